//! `SecretsResolved`: whether every secret that the resource refers to can be used.

use super::super::verdict::{Refusal, Verdict};
use super::super::wording;
use super::super::words::{ConditionReason, ConditionType, Truth};
use super::{Said, Statement};
use crate::problem::{Problem, Reason};

pub(super) fn resolved(verdict: &Verdict<'_>) -> Said {
    let (truth, reason, message) = match verdict {
        Verdict::Deleting => return Said::AsBefore(ConditionType::SecretsResolved),
        Verdict::Refused(Refusal { secrets, .. }) if !secrets.is_empty() => {
            (Truth::False, refused(secrets), wording::problems(secrets.iter().copied()))
        }
        // Which secrets are referred to is known only when the configuration is.
        Verdict::Refused(_) | Verdict::Unreadable(_) | Verdict::Unavailable(_) => {
            let message = "Secrets are looked at once the configuration can be generated";
            (Truth::Unknown, ConditionReason::WaitingForConfig, message.to_owned())
        }
        Verdict::Planned(plan) | Verdict::NotWritten(plan, _) | Verdict::Applied(plan, _) => {
            let references = wording::counted(plan.secret_references, "secret reference");
            (Truth::True, ConditionReason::AllSecretsFound, format!("Resolved {references}"))
        }
    };
    Said::Now(Statement::new(ConditionType::SecretsResolved, truth, reason, message))
}

/// The reason for problems of secrets: that of the first.
pub(in super::super) fn refused(problems: &[&Problem]) -> ConditionReason {
    match problems.first().map(|problem| problem.reason) {
        Some(Reason::SecretKeyNotFound) => ConditionReason::SecretKeyNotFound,
        Some(Reason::SecretValueRejected) => ConditionReason::SecretValueRejected,
        _ => ConditionReason::SecretNotFound,
    }
}
