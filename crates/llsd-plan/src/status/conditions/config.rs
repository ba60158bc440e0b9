//! `ConfigGenerated`: where the server's configuration comes from, or what is wrong with it.

use super::super::messages;
use super::super::stage::{Refusal, Stage};
use super::super::vocabulary::{ConditionReason, ConditionType, Truth};
use super::statement::{Assessment, Statement};
use crate::plan::Plan;
use crate::resource::Resource;

pub(super) fn generated(stage: &Stage<'_>, resource: &Resource) -> Assessment {
    let (truth, reason, message) = match stage {
        Stage::Deleting => return Assessment::AsBefore(ConditionType::ConfigGenerated),
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
            let (reason, sentence) = source(plan, resource);
            (Truth::True, reason, messages::with_warnings(&sentence, &plan.warnings))
        }
    };
    Assessment::Current(Statement::new(ConditionType::ConfigGenerated, truth, reason, message))
}

/// Where the configuration comes from, without the warnings.
pub(in super::super) fn source(plan: &Plan, resource: &Resource) -> (ConditionReason, String) {
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
