//! `HealthCheck`, `StorageReady` and `ServiceReady`: the server and what it needs, as v0.9 has them; and
//! `Unguarded` and `ModelsAvailable`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::super::messages;
use super::super::observed::{ObservedObjects, ServerAnswer, StatusInputs};
use super::super::vocabulary::{ConditionReason, ConditionType, Truth};
use super::statement::Assessment;

/// The server's own answer. It never decides `Ready`: the readiness probe asks the same question more
/// often, and where this operator cannot reach the server others may.
pub(super) fn health(
    server: &ServerAnswer,
    asks_callers: bool,
    before: Option<&Condition>,
) -> Assessment {
    let not_asked = "The server is asked once one of its pods is ready";
    let (truth, reason, message) = match server {
        ServerAnswer::Awaited if before.is_some() => {
            return Assessment::StillHolds(ConditionType::HealthCheck);
        }
        ServerAnswer::NotAsked | ServerAnswer::Awaited => {
            (Truth::Unknown, ConditionReason::ServerNotAsked, not_asked)
        }
        ServerAnswer::Unreachable(why) => {
            (Truth::Unknown, ConditionReason::ServerUnreachable, why.as_str())
        }
        ServerAnswer::Untrusted(why) => {
            (Truth::Unknown, ConditionReason::ServerUntrusted, why.as_str())
        }
        ServerAnswer::Answered(answers) => match &answers.health {
            Ok(()) if asks_callers => {
                (Truth::True, ConditionReason::HealthCheckPassed, messages::PROVIDERS_AS_PLANNED)
            }
            Ok(()) => (Truth::True, ConditionReason::HealthCheckPassed, "Health check passed"),
            Err(answer) => (Truth::False, ConditionReason::HealthCheckFailed, answer.as_str()),
        },
    };
    // A network words the same trouble one way or another from one moment to the next.
    let same_trouble = matches!(server, ServerAnswer::Unreachable(_) | ServerAnswer::Untrusted(_))
        && before.is_some_and(|before| before.reason == reason.as_str());
    if same_trouble {
        return Assessment::StillHolds(ConditionType::HealthCheck);
    }
    Assessment::new(ConditionType::HealthCheck, truth, reason, message)
}

pub(super) fn storage(live: &ObservedObjects) -> Option<Assessment> {
    let phase = live.claim.as_deref()?;
    let (truth, reason, message) = if phase == "Bound" {
        let grows = live.claim_grows.as_ref();
        let grows = grows.map(|(from, to)| format!("; it grows from {from} to {to}"));
        let message = format!("Storage is ready{}", grows.unwrap_or_default());
        (Truth::True, ConditionReason::StorageReady, message)
    } else {
        (Truth::False, ConditionReason::StorageFailed, format!("PVC is not bound: {phase}"))
    };
    Some(Assessment::new(ConditionType::StorageReady, truth, reason, message))
}

pub(super) fn service(live: &ObservedObjects) -> Assessment {
    let (truth, reason, message) = if live.service {
        (Truth::True, ConditionReason::ServiceReady, "Service is ready")
    } else {
        (Truth::False, ConditionReason::ServiceFailed, "Service is not there")
    };
    Assessment::new(ConditionType::ServiceReady, truth, reason, message)
}

/// Only while the server answers all clients, although the resource asks for access.
pub(super) fn unguarded(observed: &StatusInputs<'_>) -> Option<Assessment> {
    let is_open = observed.resource.asks_callers() && observed.live.serves_open;
    let message = "The pods that serve run without access, and answer everybody who reaches them, until a \
                   change with access is rolled out. Meanwhile nothing that leads to them is made or widened";
    let (condition, reason) = (ConditionType::Unguarded, ConditionReason::ServesOpen);
    is_open.then(|| Assessment::new(condition, Truth::True, reason, message))
}

/// Only while pods wait for one.
pub(super) fn models(live: &ObservedObjects) -> Option<Assessment> {
    let message = messages::models_awaited(live.models_awaited.as_ref()?);
    let (condition, reason) = (ConditionType::ModelsAvailable, ConditionReason::WaitingForModels);
    Some(Assessment::new(condition, Truth::False, reason, message))
}
