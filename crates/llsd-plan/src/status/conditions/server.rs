//! `HealthCheck`, `StorageReady` and `ServiceReady`: the server and what it needs, as v0.9 has them.

use super::super::observed::{Live, Server};
use super::super::vocabulary::{ConditionReason, ConditionType, Truth};
use super::statement::Statement;

/// The server's own answer. It never decides `Ready`: the readiness probe asks the same question more
/// often, and where this operator cannot reach the server others may.
pub(super) fn health(server: &Server) -> Statement {
    let (truth, reason, message) = match server {
        Server::NotAsked => (
            Truth::Unknown,
            ConditionReason::ServerNotAsked,
            "The server is asked once one of its pods is ready",
        ),
        Server::Unreachable(why) => {
            (Truth::Unknown, ConditionReason::ServerUnreachable, why.as_str())
        }
        Server::Answered(answers) => match &answers.health {
            Ok(()) => (Truth::True, ConditionReason::HealthCheckPassed, "Health check passed"),
            Err(answer) => (Truth::False, ConditionReason::HealthCheckFailed, answer.as_str()),
        },
    };
    Statement::new(ConditionType::HealthCheck, truth, reason, message)
}

pub(super) fn storage(live: &Live) -> Option<Statement> {
    let phase = live.claim.as_deref()?;
    let (truth, reason, message) = if phase == "Bound" {
        (Truth::True, ConditionReason::StorageReady, "Storage is ready".to_owned())
    } else {
        (Truth::False, ConditionReason::StorageFailed, format!("PVC is not bound: {phase}"))
    };
    Some(Statement::new(ConditionType::StorageReady, truth, reason, message))
}

pub(super) fn service(live: &Live) -> Statement {
    let (truth, reason, message) = if live.service {
        (Truth::True, ConditionReason::ServiceReady, "Service is ready")
    } else {
        (Truth::False, ConditionReason::ServiceFailed, "Service is not there")
    };
    Statement::new(ConditionType::ServiceReady, truth, reason, message)
}
