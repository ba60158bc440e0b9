//! `ConfigGenerated`: where the server's configuration comes from, or what is wrong with it.

use super::super::verdict::{Refusal, Verdict};
use super::super::wording;
use super::super::words::{ConditionReason, ConditionType, Truth};
use super::{Said, Statement};
use crate::plan::Plan;
use crate::problem::{Problem, Reason};
use crate::resource::Resource;

pub(super) fn generated(verdict: &Verdict<'_>, resource: &Resource) -> Said {
    let (truth, reason, message) = match verdict {
        Verdict::Deleting => return Said::AsBefore(ConditionType::ConfigGenerated),
        Verdict::Unreadable(why) => {
            (Truth::False, ConditionReason::InvalidResource, (*why).to_owned())
        }
        Verdict::Refused(Refusal { secrets, others })
            if others.is_empty() && !secrets.is_empty() =>
        {
            let message = "The configuration is generated once all secrets can be used";
            (Truth::Unknown, ConditionReason::WaitingForSecrets, message.to_owned())
        }
        Verdict::Refused(Refusal { others, .. }) => {
            (Truth::False, refused(others), wording::problems(others.iter().copied()))
        }
        Verdict::Unavailable(missing) => {
            (Truth::False, ConditionReason::RegistryUnavailable, wording::problems(*missing))
        }
        Verdict::Planned(plan) | Verdict::NotWritten(plan, _) | Verdict::Applied(plan, _) => {
            let (reason, sentence) = source(plan, resource);
            (Truth::True, reason, wording::with_warnings(&sentence, &plan.warnings))
        }
    };
    Said::Now(Statement::new(ConditionType::ConfigGenerated, truth, reason, message))
}

/// The reason for problems that are no secret's: the first that has a name of its own.
pub(in super::super) fn refused(problems: &[&Problem]) -> ConditionReason {
    let named = problems.iter().find_map(|problem| match problem.reason {
        Reason::MissingConfigLabels => Some(ConditionReason::MissingConfigLabels),
        Reason::UnsupportedConfigVersion => Some(ConditionReason::UnsupportedConfigVersion),
        Reason::ConfigMapNotFound => Some(ConditionReason::ConfigMapNotFound),
        _ => None,
    });
    named.unwrap_or(ConditionReason::ConfigGenerationFailed)
}

/// Where the configuration comes from, without the warnings.
pub(in super::super) fn source(plan: &Plan, resource: &Resource) -> (ConditionReason, String) {
    if let Some(generated) = &plan.generated {
        let counts = generated.counts;
        let providers = wording::counted(counts.providers, "provider");
        let models = wording::counted(counts.models, "model");
        let contents = match counts.resources.saturating_sub(counts.models) {
            0 => format!("{providers} and {models}"),
            others => {
                format!("{providers}, {models} and {}", wording::counted(others, "other resource"))
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
