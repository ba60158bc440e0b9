//! What is done where the cluster refuses a part of an object that can be done without: the rest of it
//! does not wait for that.

use super::action::Action;
use super::claim;
use super::decide::Decision;
use super::refusal::WriteFailure;
use crate::objects::{ObjectKind, PlannedObject};
use crate::problems::{FieldPath, Problem, Reason};
use crate::resource::Resource;

impl Decision<'_> {
    /// What to do instead of a write that was refused for a part that can be done without, and the
    /// remark on that.
    pub fn instead(&self, resource: &Resource, failure: &WriteFailure) -> Option<(Self, Problem)> {
        self.without_growing(resource, failure).or_else(|| self.without_timeouts(resource, failure))
    }

    /// Where the cluster's HTTPRoutes are of a Gateway API before 1.2, which has no timeouts. That a
    /// stream may be cut is no reason to leave the server unreached.
    fn without_timeouts(
        &self,
        resource: &Resource,
        failure: &WriteFailure,
    ) -> Option<(Self, Problem)> {
        let unknown = failure.message.contains("timeouts") && failure.message.contains("schema");
        let live = match self.action {
            Action::Create => None,
            Action::Update(live) | Action::Adopt(live) => Some(live),
            Action::Leave | Action::Mark(_) | Action::Wait | Action::Refuse => return None,
        };
        if self.object.kind != ObjectKind::HttpRoute || !unknown {
            return None;
        }
        let mut object = self.object.clone();
        for rule in object.json["spec"]["rules"].as_array_mut().into_iter().flatten() {
            rule.as_object_mut()?.shift_remove("timeouts");
        }
        let remark = Problem {
            path: FieldPath::spec().key("networking").key("expose").key("gateway"),
            reason: Reason::Ignored,
            message:
                "the cluster's Gateway API has no timeouts for an HTTPRoute; a gateway may cut \
                      long answers"
                    .to_owned(),
            remedy: "install Gateway API 1.2 or later".to_owned(),
        };
        Some((Self::for_object(resource, object, live), remark))
    }

    /// What to do instead where a claim was refused because it cannot grow, and the remark on that.
    /// What else is new in it does not wait: whose it is above all, as a claim that v0.9's reference
    /// still binds to the resource would be deleted with it.
    fn without_growing(
        &self,
        resource: &Resource,
        failure: &WriteFailure,
    ) -> Option<(Self, Problem)> {
        let (Action::Update(live) | Action::Adopt(live)) = self.action else { return None };
        let remark = claim::not_growing(Some(live), &self.object.json, failure)?;
        let json = claim::with_its_size(self.object.json.clone(), Some(live));
        let object = PlannedObject { json, ..self.object.clone() };
        Some((Self::for_object(resource, object, Some(live)), remark))
    }
}
