//! `SecretsResolved`: whether every secret that the resource refers to can be used.

use super::super::messages;
use super::super::stage::Stage;
use super::super::vocabulary::{ConditionReason, ConditionType, Truth};
use super::statement::{Assessment, Statement};

pub(super) fn resolved(stage: &Stage<'_>) -> Assessment {
    let (truth, reason, message) = match stage {
        Stage::Deleting => return Assessment::AsBefore(ConditionType::SecretsResolved),
        Stage::Refused(refusal) if !refusal.secrets.is_empty() => {
            let message = messages::problems(refusal.secrets.iter().copied());
            (Truth::False, refusal.reason_of_secrets(), message)
        }
        // Which secrets are referred to is known only when the configuration is.
        Stage::Refused(_) | Stage::Unreadable(_) | Stage::Unavailable(_) => {
            let message = "Secrets are looked at once the configuration can be generated";
            (Truth::Unknown, ConditionReason::WaitingForConfig, message.to_owned())
        }
        Stage::Planned(plan) | Stage::NotWritten(plan, _) | Stage::Applied(plan, _) => {
            let references = messages::counted(plan.secret_references, "secret reference");
            (Truth::True, ConditionReason::AllSecretsFound, format!("Resolved {references}"))
        }
    };
    Assessment::Current(Statement::new(ConditionType::SecretsResolved, truth, reason, message))
}
