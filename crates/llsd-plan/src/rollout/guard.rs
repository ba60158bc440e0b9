//! A server that asks its callers who they are is not opened by accident: while the pods that serve do not ask
//! yet, nothing that leads to them is made or widened, and no rollout that failed goes back to pods that do not
//! ask.

use serde_json::Value;

use super::decide::ClusterState;
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

impl ClusterState {
    /// Takes a return up, unless it would open a server that asks its callers and nobody asked for that.
    pub fn take_return(&mut self, back: Back, live: &DeploymentDetail) {
        let asks = live.listening.as_ref().is_some_and(|listening| listening.guarded);
        let opens = asks && back.template.as_ref().is_some_and(|template| !is_guarded(template));
        if opens && !back.may_open {
            self.open_return = Some(back.to);
        } else {
            self.back = Some(back);
        }
    }
}

/// That a return is not made.
pub(super) fn stays_guarded(to: &str) -> Problem {
    Problem {
        path: FieldPath::spec().key("access"),
        reason: Reason::Conflict,
        message: format!("the server does not go back to the state {to}, which answers everybody"),
        remedy: format!("`llsd rollback --to {to} --open` goes back all the same"),
    }
}
