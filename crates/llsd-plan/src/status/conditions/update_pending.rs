//! `UpdatePending`: what would restart the server and is therefore left until somebody asks for it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::super::messages::{self, MESSAGE_BYTES};
use super::super::stage::Stage;
use super::super::vocabulary::{ConditionReason, ConditionType, Truth};
use super::statement::{Assessment, Statement};

const HOW: &str = "a change of the spec or of the annotation llamastack.io/refresh applies";

pub(super) fn pending(
    stage: &Stage<'_>,
    newer_digest: Option<&str>,
    before: Option<&Condition>,
) -> Option<Assessment> {
    let (waiting, applied) = match stage {
        Stage::Deleting => return None,
        Stage::Applied(_, applied) => (applied.waiting.as_slice(), true),
        _ => (&[][..], false),
    };
    let kept = ConditionReason::AdoptedTemplateKept;
    // Where nothing was applied, what waited before still waits.
    if !applied && before.is_some_and(|before| before.reason == kept.as_str()) {
        return Some(Assessment::AsBefore(ConditionType::UpdatePending));
    }
    let newer = newer_digest
        .map(|digest| format!("The image's tag points to {digest} by now; {HOW} it"))
        .unwrap_or_default();
    let (reason, message) = match (waiting.is_empty(), newer.is_empty()) {
        (true, true) => return None,
        (true, false) => (ConditionReason::NewerImage, newer),
        (false, _) => {
            let start = format!("The adopted Deployment runs as it was; {HOW} what waits: ");
            let end = if newer.is_empty() { newer } else { format!(". {newer}") };
            let room = MESSAGE_BYTES.saturating_sub(start.len() + end.len());
            let waiting = messages::listed(waiting.iter().cloned(), room);
            (kept, format!("{start}{waiting}{end}"))
        }
    };
    let condition = ConditionType::UpdatePending;
    Some(Assessment::Current(Statement::new(condition, Truth::True, reason, message)))
}
