//! A volume claim can grow and never shrink, and only where its storage class allows it. Neither is
//! a reason to leave a server without the rest of what was asked for.

use llsd_plan::problem::{FieldPath, Problem, Reason};
use llsd_plan::quantity::nanos;
use llsd_plan::status::Refused;
use serde_json::{Value, json};

use super::write::Failed;
use crate::controller::cache::{Child, Detail};

/// The claim as it can be applied: where it would shrink, with the size that it has.
pub fn without_shrinking(mut desired: Value, live: Option<&Child>) -> (Value, Option<Problem>) {
    let Some(Detail::Claim { size, .. }) = live.map(|live| &live.detail) else {
        return (desired, None);
    };
    let wanted = &mut desired["spec"]["resources"]["requests"]["storage"];
    let asked = wanted.as_str().unwrap_or_default().to_owned();
    let shrinks = nanos(&asked).zip(nanos(size));
    if shrinks.is_none_or(|(asked, has)| asked >= has) {
        return (desired, None);
    }
    *wanted = json!(size);
    let problem = Problem {
        path: path(),
        reason: Reason::Ignored,
        message: format!("a volume cannot shrink: it has {size}, and {asked} is asked for"),
        remedy: format!("set it to {size} or more"),
    };
    (desired, Some(problem))
}

/// A claim that is there and cannot be changed: a remark, where the API server refused the change.
pub fn kept_as_it_is(live: Option<&Child>, failed: &Failed) -> Option<Problem> {
    live?;
    // A storage class without expansion is refused as forbidden.
    let refused = failed.refused == Refused::Invalid || failed.message.contains("forbidden");
    refused.then(|| Problem {
        path: path(),
        reason: Reason::Ignored,
        message: format!("the volume stays as it is: {}", failed.message),
        remedy: "use a storage class that allows volume expansion, or set the old size".to_owned(),
    })
}

fn path() -> FieldPath {
    FieldPath::spec().key("workload").key("storage").key("size")
}
