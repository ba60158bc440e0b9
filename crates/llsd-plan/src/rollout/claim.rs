//! A volume claim can grow and never shrink, and only where its storage class allows it. Neither is
//! a reason to leave a server without the rest of what was asked for.

use serde_json::{Value, json};

use super::refusal::{Refused, WriteFailure};
use crate::live::{Detail, LiveObject};
use crate::problem::{FieldPath, Problem, Reason};
use crate::quantity::nanos;
use crate::resource::Resource;

/// The claim as it can be applied: where it would shrink, with the size that it has.
pub(super) fn without_shrinking(
    desired: Value,
    live: Option<&LiveObject>,
) -> (Value, Option<Problem>) {
    let Some((asked, has)) = sizes(&desired, live) else { return (desired, None) };
    let both = nanos(&asked).zip(nanos(has));
    if both.is_none_or(|(asked, has)| asked >= has) {
        return (desired, None);
    }
    let problem = Problem {
        path: path(),
        reason: Reason::Ignored,
        message: format!("a volume cannot shrink: it has {has}, and {asked} is asked for"),
        remedy: format!("set it to {has} or more"),
    };
    (with_its_size(desired, live), Some(problem))
}

/// A claim that is there and cannot grow: a remark, where it was that which the API server refused.
pub(super) fn not_growing(
    live: Option<&LiveObject>,
    desired: &Value,
    failed: &WriteFailure,
) -> Option<Problem> {
    let (asked, has) = sizes(desired, live)?;
    // A storage class without expansion is refused as forbidden.
    let refused = failed.refused == Refused::Invalid || failed.message.contains("forbidden");
    (refused && asked != has).then(|| Problem {
        path: path(),
        reason: Reason::Ignored,
        message: format!("the volume stays at {has}: {}", failed.message),
        remedy: "use a storage class that allows volume expansion, or set the old size".to_owned(),
    })
}

/// A claim that somebody deletes stays as long as a pod uses it. To wait for that before anything
/// else is applied would be to wait for ever: what is applied may be that no pod shall run.
pub(super) fn going(live: &LiveObject) -> Option<Problem> {
    live.deleting.then(|| Problem {
        path: FieldPath::spec().key("workload").key("storage"),
        reason: Reason::Ignored,
        message: "the volume's claim is being deleted, which ends when no pod uses it".to_owned(),
        remedy: "set workload.replicas to 0 to let it go; a new one is made then".to_owned(),
    })
}

/// Whether a claim that is to outlive the resource would be deleted with it, because somebody made it
/// the resource's: v0.9 under whichever name its program was built, or a person.
pub(super) fn would_go_with(resource: &Resource, desired: &Value, live: &LiveObject) -> bool {
    let Detail::Claim { owners, .. } = &live.detail else { return false };
    let is_kept = desired["metadata"].get("ownerReferences").is_none();
    is_kept && owners.iter().any(|owner| **owner == *resource.owner())
}

/// The claim with the size that the live one has.
pub(super) fn with_its_size(mut desired: Value, live: Option<&LiveObject>) -> Value {
    if let Some((_, has)) = sizes(&desired, live) {
        desired["spec"]["resources"]["requests"]["storage"] = json!(has);
    }
    desired
}

/// What is asked for, and what the live claim has.
fn sizes<'a>(desired: &Value, live: Option<&'a LiveObject>) -> Option<(String, &'a str)> {
    let Detail::Claim { size, .. } = &live?.detail else { return None };
    let asked = desired["spec"]["resources"]["requests"]["storage"].as_str()?;
    Some((asked.to_owned(), size))
}

fn path() -> FieldPath {
    FieldPath::spec().key("workload").key("storage").key("size")
}
