//! `ConfigGenerated` and `SecretsResolved`: where the server's configuration comes from, whether every
//! secret that the resource refers to can be used, or what is wrong with them.

use super::super::messages;
use super::super::stage::{Refusal, Stage};
use super::super::vocabulary::{ConditionReason, ConditionType, Truth};
use super::statement::Assessment;
use crate::plan::Plan;
use crate::resource::Resource;

pub(super) fn config_generated(stage: &Stage<'_>, resource: &Resource) -> Assessment {
    let (truth, reason, message) = match stage {
        Stage::Deleting | Stage::Paused { .. } | Stage::Contended(_) | Stage::Hindered(_) => {
            return Assessment::AsBefore(ConditionType::ConfigGenerated);
        }
        Stage::Unreadable(why) => {
            (Truth::False, ConditionReason::InvalidResource, (*why).to_owned())
        }
        Stage::Refused(Refusal { secrets, others }) if others.is_empty() && !secrets.is_empty() => {
            let message = "The configuration is generated once all secrets can be used";
            (Truth::Unknown, ConditionReason::WaitingForSecrets, message.to_owned())
        }
        Stage::Refused(refusal) => {
            let message = messages::problems(refusal.others.iter().copied());
            (Truth::False, refusal.reason_of_others(), message)
        }
        Stage::Unavailable(missing) => {
            (Truth::False, ConditionReason::RegistryUnavailable, messages::problems(*missing))
        }
        Stage::Planned(plan) | Stage::NotWritten(plan, _) | Stage::Applied(plan, _) => {
            let (reason, sentence) = config_source(plan, resource);
            (Truth::True, reason, messages::with_warnings(&sentence, &plan.warnings))
        }
    };
    Assessment::new(ConditionType::ConfigGenerated, truth, reason, message)
}

pub(super) fn secrets_resolved(stage: &Stage<'_>) -> Assessment {
    let (truth, reason, message) = match stage {
        Stage::Deleting | Stage::Paused { .. } | Stage::Contended(_) | Stage::Hindered(_) => {
            return Assessment::AsBefore(ConditionType::SecretsResolved);
        }
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
    Assessment::new(ConditionType::SecretsResolved, truth, reason, message)
}

/// Where the configuration comes from, without the warnings.
pub(in super::super) fn config_source(
    plan: &Plan,
    resource: &Resource,
) -> (ConditionReason, String) {
    if let Some(generated) = &plan.generated {
        let counts = generated.counts;
        let providers = messages::counted(counts.providers, "provider");
        let models = messages::counted(counts.models, "model");
        let contents = match counts.resources.saturating_sub(counts.models) {
            0 => format!("{providers} and {models}"),
            others => {
                format!("{providers}, {models} and {}", messages::counted(others, "other resource"))
            }
        };
        let sentence = format!("Generated config.yaml with {contents}");
        return (ConditionReason::ConfigGenerationSucceeded, sentence);
    }
    if let Some(name) = resource.override_config() {
        let sentence = format!("Using the configuration of ConfigMap {name}");
        return (ConditionReason::ConfigOverridden, sentence);
    }
    (ConditionReason::DefaultConfigUsed, "Using the configuration inside the image".to_owned())
}
