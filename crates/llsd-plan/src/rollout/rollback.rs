//! Back to a template of before: to the last good one where a change does not become available, or to one
//! that somebody names. The Deployment's own ReplicaSets keep the templates; what must be known beyond that
//! is recorded on the Deployment, so that an operator that starts in the middle goes on.

use llsd_api::v1alpha2::RollbackPolicy;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::unchanged::has_its_inputs;
use crate::live::{DeploymentDetail, LiveObject};
use crate::objects::{PlannedObject, labels};
use crate::resource::Resource;
use crate::resource::template_inputs::{self, Inputs};

/// So long all pods must have been available for their template to count as good.
const GOOD_AFTER: i64 = 60;

/// What the Deployment says once its pods do not become available in time.
const DEADLINE: &str = "ProgressDeadlineExceeded";

/// A return to a template of before, as the Deployment records it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Return {
    /// The hash of the template that runs instead.
    pub to: String,
    /// The hash of the template that failed; empty where none did.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub from: String,
    /// Why, in the Deployment's words; empty where somebody asked for it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
}

impl Return {
    /// Whether a person asked for it.
    pub fn is_asked_for(&self) -> bool {
        self.why.is_empty()
    }

    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub fn parse(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }
}

/// The template of before that the server is to go back to now.
pub fn returns_to(
    resource: &Resource,
    planned: &PlannedObject,
    image_override: Option<&str>,
    policy: RollbackPolicy,
    live: Option<&LiveObject>,
) -> Option<Return> {
    let deployment = live?.deployment()?;
    let annotations = &planned.json["metadata"]["annotations"];
    asked_for(resource, annotations, deployment).or_else(|| {
        let has_its_inputs = has_its_inputs(resource, annotations, image_override, deployment);
        failed(deployment).filter(|_| policy == RollbackPolicy::Auto && has_its_inputs)
    })
}

fn asked_for(
    resource: &Resource,
    planned: &Value,
    deployment: &DeploymentDetail,
) -> Option<Return> {
    let hash = resource.rollback_to.as_deref()?.split_whitespace().next()?;
    let now = planned[labels::INPUTS].as_str().map(Inputs::parse)?;
    let recorded = deployment.inputs.as_deref().map(Inputs::parse).unwrap_or_default();
    let asks = now.ask_again(template_inputs::ROLLBACK_TO, &recorded);
    asks.then(|| Return { to: hash.to_owned(), ..Return::default() })
}

fn failed(deployment: &DeploymentDetail) -> Option<Return> {
    let (reason, message) = deployment.state.stuck.as_ref()?;
    let (good, failed) = (deployment.last_good.as_deref()?, deployment.progress_of.as_deref()?);
    // Where the last good one itself does not come back, there is nothing to go back to.
    let goes = reason == DEADLINE
        && deployment.state.is_observed()
        && deployment.rolled_back.is_none()
        && good != failed;
    goes.then(|| Return { to: good.to_owned(), from: failed.to_owned(), why: message.clone() })
}

/// The hash of the last good template at the moment at which another one takes its place.
pub(super) fn last_good(deployment: &DeploymentDetail, now: i64) -> Option<&str> {
    let for_long = |since: Option<i64>| since.is_some_and(|since| now - since >= GOOD_AFTER);
    let is_good = deployment.state.is_observed()
        && for_long(deployment.completed_at)
        && for_long(deployment.available_since);
    let current = deployment.progress_of.as_deref().filter(|_| is_good);
    current.or(deployment.last_good.as_deref())
}

/// The template of the ReplicaSet with this hash, as a Deployment has it.
pub fn template_of(replica_set: &Value, hash: &str) -> Option<Value> {
    let found = replica_set["metadata"]["labels"][labels::POD_TEMPLATE_HASH] == hash;
    let mut template = replica_set["spec"]["template"].clone();
    template["metadata"]["labels"].as_object_mut()?.shift_remove(labels::POD_TEMPLATE_HASH);
    template["metadata"].as_object_mut()?.shift_remove("creationTimestamp");
    found.then_some(template)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::DeploymentState;

    fn stuck(last_good: Option<&str>) -> DeploymentDetail {
        DeploymentDetail {
            state: DeploymentState {
                stuck: Some((DEADLINE.to_owned(), "timed out".to_owned())),
                ..DeploymentState::default()
            },
            progress_of: Some("new".into()),
            last_good: last_good.map(Into::into),
            ..DeploymentDetail::default()
        }
    }

    #[test]
    fn what_misses_its_deadline_goes_back_to_the_last_good_one_and_only_once() {
        let back = failed(&stuck(Some("old"))).unwrap();
        let expected = Return { to: "old".into(), from: "new".into(), why: "timed out".into() };
        assert_eq!((&back, back.is_asked_for()), (&expected, false));
        assert_eq!(Return::parse(&back.text()), back);
        assert_eq!(failed(&stuck(None)), None, "a first rollout has nothing to go back to");
        assert_eq!(failed(&stuck(Some("new"))), None, "it was good, and is what fails now");
        let back = DeploymentDetail { rolled_back: Some("{}".into()), ..stuck(Some("old")) };
        assert_eq!(failed(&back), None, "it is back already");
        let mut quota = stuck(Some("old"));
        quota.state.stuck = Some(("ReplicaSetCreateError".into(), "exceeded quota".into()));
        assert_eq!(failed(&quota), None, "no pod of it was tried");
        let mut early = stuck(Some("old"));
        early.state.generation = 1;
        assert_eq!(failed(&early), None, "it speaks of the template before");
    }

    #[test]
    fn good_is_what_was_available_for_a_minute() {
        let deployment = |completed: Option<i64>, available: Option<i64>| DeploymentDetail {
            progress_of: Some("now".into()),
            completed_at: completed,
            available_since: available,
            last_good: Some("before".into()),
            ..DeploymentDetail::default()
        };
        let good = |completed, available| {
            last_good(&deployment(completed, available), 100).unwrap().to_owned()
        };
        assert_eq!(good(Some(40), Some(0)), "now");
        assert_eq!(good(Some(41), Some(0)), "before", "not for long enough");
        assert_eq!(good(Some(0), Some(41)), "before", "it was away meanwhile");
        assert_eq!(good(None, Some(0)), "before", "its rollout is not over");
        assert_eq!(good(Some(0), None), "before", "nothing of it serves");
    }
}
