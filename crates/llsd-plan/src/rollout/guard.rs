//! A server that asks its callers who they are is not opened by accident: while the pods that serve do not ask
//! yet, nothing that leads to them is made or widened, and no rollout that failed goes back to pods that do not
//! ask.

use serde_json::Value;

use super::rollback::Back;
use crate::live::DeploymentDetail;
use crate::objects::{ObjectKind, Role};
use crate::problems::{FieldPath, Problem, Reason};
use crate::server::listening::is_guarded;

/// Whether the resource asks for a server that asks its callers, and pods that do not may serve once the
/// Deployment has this template.
pub(super) fn is_open_meanwhile(
    planned: &Value,
    template: &Value,
    live: Option<&DeploymentDetail>,
) -> bool {
    let serves_open = live.is_some_and(DeploymentDetail::serves_open);
    is_guarded(planned) && (!is_guarded(template) || serves_open)
}

/// Whether an object that leads to the pods stays as it is meanwhile. A policy that is not there yet is made: it
/// opens nothing.
pub(super) fn is_held(kind: ObjectKind, is_there: bool) -> bool {
    kind.role() == Role::Exposure || kind == ObjectKind::NetworkPolicy && is_there
}

/// Whether a return would open a server that asks its callers, and nobody asked for that.
pub(super) fn opens(back: &Back, live: &DeploymentDetail) -> bool {
    let asks = live.listening.as_ref().is_some_and(|listening| listening.guarded);
    let is_open = back.template.as_ref().is_some_and(|template| !is_guarded(template));
    asks && is_open && !back.may_open
}

/// That a return is not made.
pub(super) fn stays_guarded(to: &str) -> Problem {
    Problem {
        path: FieldPath::spec().key("access"),
        reason: Reason::Conflict,
        message: format!(
            "the server does not go back to the state {to}, which answers everybody, unless \
             `llsd rollback --to {to} --open` says so"
        ),
        remedy: "mend what keeps the new pods from running".to_owned(),
    }
}
