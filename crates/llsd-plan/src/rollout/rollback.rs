//! Back to a template of before: to the last good one where a change does not become available, or to one
//! that somebody names. The Deployment's own ReplicaSets keep the templates; what must be known beyond that
//! is recorded on the Deployment, so that an operator that starts in the middle goes on.

use llsd_api::v1alpha2::RollbackPolicy;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::shared::{self, Lacking};
use super::unchanged::has_its_inputs;
use crate::live::{DeploymentDetail, LiveObject};
use crate::objects::{PlannedObject, labels};
use crate::problems::{FieldPath, Problem, Reason};
use crate::resource::template_inputs::{self, Inputs};
use crate::resource::{ROLLBACK_TO, Resource};

/// So long all pods must have been available for their template to count as good.
pub(super) const GOOD_AFTER: i64 = 60;

/// What the Deployment says once its pods do not become available in time.
const DEADLINE: &str = "ProgressDeadlineExceeded";

/// The word after the hash in `llamastack.io/rollback-to` that allows a return by which the server answers
/// everybody.
pub const OPEN: &str = "open";

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
    /// What was in the way of the pods of the template that failed; empty where that is not known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cause: String,
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

/// Where a server is to go back to.
#[derive(Clone, Debug)]
pub struct Back {
    pub to: Return,
    /// Its template, where that is kept and its pods could start.
    pub template: Option<Value>,
    /// The copy of the start programs without which they could not.
    pub without: Option<String>,
    /// Something else is asked for by now: the server goes back only while that has to wait.
    pub is_superseded: bool,
    /// It is made also where the server then answers everybody.
    pub may_open: bool,
}

impl Back {
    /// Leaves the template out where its pods could not start, or would run what is not ours: a copy of the start
    /// programs among `mounted` cannot be made, or holds something else.
    pub fn leave_out_unstartable<'a>(
        &mut self,
        mounted: impl IntoIterator<Item = &'a str>,
        live: &[LiveObject],
        lacking: &Lacking,
    ) {
        let mut mounted = mounted.into_iter();
        let is_unusable =
            |name: &&str| shared::is_tampered(live, name) || lacking.lost.contains(*name);
        if let Some(copy) = mounted.find(is_unusable) {
            (self.template, self.without) = (None, Some(copy.to_owned()));
        }
    }

    /// Why there is no template, where somebody has to know.
    pub(super) fn why_not(&self) -> Option<Problem> {
        let path = if self.to.is_asked_for() {
            FieldPath::root().key("metadata").key("annotations").key(ROLLBACK_TO)
        } else {
            FieldPath::spec().key("workload").key("rollback")
        };
        let to = &self.to.to;
        let (message, remedy) = match &self.without {
            Some(copy) => (
                format!(
                    "the server does not go back to its state {to}, whose pods could not start: ConfigMap \
                     {copy} with their start program is missing, or does not hold what its name stands for"
                ),
                "restore that ConfigMap, delete it if it holds something else, or correct the resource",
            ),
            None if self.to.is_asked_for() => (
                format!("no state {to} of the server is kept"),
                "`llsd history` lists those that are",
            ),
            None => return None,
        };
        Some(Problem { path, reason: Reason::NotFound, message, remedy: remedy.to_owned() })
    }
}

/// The template of before that the server is to go back to now.
pub fn returns_to(
    resource: &Resource,
    planned: &PlannedObject,
    image_override: Option<&str>,
    policy: RollbackPolicy,
    live: Option<&LiveObject>,
    now: i64,
) -> Option<Back> {
    let deployment = live?.deployment()?;
    let annotations = &planned.json["metadata"]["annotations"];
    if let Some(to) = asked_for(resource, annotations, deployment) {
        let mut words = resource.rollback_to.as_deref().into_iter().flat_map(str::split_whitespace);
        let may_open = words.any(|word| word == OPEN);
        return Some(Back { to, template: None, without: None, is_superseded: false, may_open });
    }
    let failed = failed_rollout(live?, policy, now)?;
    let has_its_inputs = has_its_inputs(resource, annotations, image_override, deployment);
    Some(Back { is_superseded: !has_its_inputs, ..failed })
}

/// The template of before that a rollout that failed goes back to, whatever is asked for by now.
pub fn failed_rollout(live: &LiveObject, policy: RollbackPolicy, now: i64) -> Option<Back> {
    let failed = failed(live.deployment()?, now).filter(|_| policy == RollbackPolicy::Auto)?;
    let (template, without) = (None, None);
    Some(Back { to: failed, template, without, is_superseded: false, may_open: false })
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

fn failed(deployment: &DeploymentDetail, now: i64) -> Option<Return> {
    let missed = deployment.state.stuck.as_ref().filter(|(reason, _)| reason == DEADLINE);
    let why = missed.map(|(_, message)| message.clone()).or_else(|| never_ran(deployment, now))?;
    let (good, failed) = (deployment.last_good.as_deref()?, deployment.progress_of.as_deref()?);
    // Where the last good one itself does not come back, there is nothing to go back to.
    let goes = deployment.state.is_observed() && deployment.rolled_back.is_none() && good != failed;
    let cause = String::new();
    goes.then(|| Return { to: good.to_owned(), from: failed.to_owned(), why, cause })
}

/// Why a template failed that was made while no pod was wanted. Kubernetes calls such a rollout complete, and
/// never says that it is not.
fn never_ran(deployment: &DeploymentDetail, now: i64) -> Option<String> {
    let DeploymentDetail { unproven, unavailable_since, deadline, state, .. } = deployment;
    let for_long = unavailable_since.is_some_and(|since| now - since >= *deadline);
    (*unproven && state.wanted > 0 && for_long)
        .then(|| format!("no pod of it became available within {deadline} s"))
}

/// In how many seconds that comes to pass, where it does: no event tells of it.
pub fn fails_in(deployment: &DeploymentDetail, now: i64) -> Option<i64> {
    let DeploymentDetail { unproven, unavailable_since, deadline, state, .. } = deployment;
    let rest = unavailable_since.filter(|_| *unproven && state.wanted > 0)? + deadline - now;
    (rest > 0).then_some(rest)
}

/// The hash of the last good template at the moment at which another one takes its place.
pub(super) fn last_good(deployment: &DeploymentDetail, now: i64) -> Option<&str> {
    let DeploymentDetail { state, unproven, completed_at, .. } = deployment;
    let is_good = state.is_observed()
        && is_for_long(*completed_at, now)
        && match state.wanted {
            _ if *unproven => is_proven(deployment, now),
            0 => true,
            // Where more pods are wanted than there are, those that there are count.
            _ => {
                let grows = deployment.unavailable_since.is_some();
                state.available > 0 && (grows || is_for_long(deployment.available_since, now))
            }
        };
    // What ran, and has too few pods since a moment ago or is woken just now, is better than nothing.
    let since = deployment.unavailable_since;
    let is_expected = since.is_some_and(|since| now - since < deployment.deadline);
    let is_there = state.available > 0 || is_expected;
    let has_run = !*unproven && is_there && is_for_long(*completed_at, now);
    let current = || deployment.progress_of.as_deref().filter(|_| state.is_observed());
    let good = current().filter(|_| is_good).or(deployment.last_good.as_deref());
    good.or_else(|| current().filter(|_| has_run))
}

/// Whether all pods are of the template that the Deployment has, and have been available for long enough.
pub(super) fn is_proven(deployment: &DeploymentDetail, now: i64) -> bool {
    let DeploymentDetail { state, available_since, .. } = deployment;
    state.wanted > 0 && state.is_complete() && is_for_long(*available_since, now)
}

fn is_for_long(since: Option<i64>, now: i64) -> bool {
    since.is_some_and(|since| now - since >= GOOD_AFTER)
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
    fn a_return_whose_pods_could_not_start_is_not_made_and_says_what_is_missing() {
        let copy = "start-program.0a1b";
        let lacking = Lacking { lost: [copy.to_owned()].into(), ..Lacking::default() };
        let to = |why: &str| Return { to: "old".into(), why: why.into(), ..Return::default() };
        for why in ["", "timed out"] {
            let template = Some(Value::Null);
            let (is_superseded, may_open) = (false, false);
            let mut back = Back { to: to(why), template, without: None, is_superseded, may_open };
            back.leave_out_unstartable([copy], &[], &Lacking::default());
            assert!(back.template.is_some(), "it is made before the pods");
            back.leave_out_unstartable([copy], &[], &lacking);
            assert!(back.template.is_none());
            let problem = back.why_not().unwrap();
            assert!(problem.message.contains(copy), "{}", problem.message);
        }
        let gone = Back {
            to: to("timed out"),
            template: None,
            without: None,
            is_superseded: false,
            may_open: false,
        };
        assert!(gone.why_not().is_none(), "nobody asked for it");
    }

    #[test]
    fn what_misses_its_deadline_goes_back_to_the_last_good_one_and_only_once() {
        let failed = |deployment: &DeploymentDetail| failed(deployment, 0);
        let back = failed(&stuck(Some("old"))).unwrap();
        let (to, from, why) = ("old".into(), "new".into(), "timed out".into());
        let expected = Return { to, from, why, cause: String::new() };
        assert_eq!((&back, back.is_asked_for()), (&expected, false));
        assert_eq!(Return::parse(&back.text()), back);
        let caused = Return { cause: "Unschedulable: too little memory".into(), ..back };
        assert_eq!(
            Return::parse(&caused.text()),
            caused,
            "an operator that was restarted knows it"
        );
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
            state: DeploymentState { wanted: 1, available: 1, ..DeploymentState::default() },
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
        let only = DeploymentDetail { last_good: None, ..deployment(Some(0), Some(41)) };
        assert_eq!(last_good(&only, 100), Some("now"), "nothing better is known");
        let woken = |since: i64| {
            let state = DeploymentState { wanted: 1, ..DeploymentState::default() };
            let unavailable_since = Some(since);
            let deployment = deployment(Some(0), None);
            let last_good = None;
            DeploymentDetail { state, unavailable_since, deadline: 60, last_good, ..deployment }
        };
        assert_eq!(last_good(&woken(90), 100), Some("now"), "its pods are about to come");
        assert_eq!(last_good(&woken(40), 100), None, "they do not come");
    }

    #[test]
    fn what_was_made_while_no_pod_was_wanted_is_good_once_a_pod_of_it_ran() {
        let deployment = |wanted: i32, available: i32, unproven: bool| DeploymentDetail {
            state: DeploymentState {
                wanted,
                available,
                replicas: wanted,
                updated: wanted,
                ..DeploymentState::default()
            },
            progress_of: Some("now".into()),
            completed_at: Some(0),
            available_since: (available >= wanted).then_some(0),
            unavailable_since: (available < wanted).then_some(0),
            last_good: Some("before".into()),
            deadline: 600,
            unproven,
            ..DeploymentDetail::default()
        };
        let good = |wanted, available, unproven| {
            last_good(&deployment(wanted, available, unproven), 1000).unwrap().to_owned()
        };
        assert_eq!(good(0, 0, false), "now", "it served before it was scaled down");
        assert_eq!(good(0, 0, true), "before", "no pod of it ever ran");
        assert_eq!(good(1, 0, true), "before");
        assert_eq!(good(1, 1, true), "now");
        assert_eq!(good(2, 1, false), "now", "it served before more pods were wanted");
        assert_eq!(good(2, 1, true), "before");
        assert!(failed(&deployment(1, 0, true), 1000).is_some(), "it does not run");
        assert_eq!(failed(&deployment(1, 0, true), 599), None);
        assert_eq!(failed(&deployment(0, 0, true), 1000), None, "nobody wants a pod");
        assert_eq!(failed(&deployment(1, 0, false), 1000), None, "it ran before");
    }

    #[test]
    fn when_a_template_fails_by_time_alone_is_known_before() {
        let deployment = DeploymentDetail {
            state: DeploymentState { wanted: 1, ..DeploymentState::default() },
            unproven: true,
            unavailable_since: Some(1000),
            deadline: 600,
            ..DeploymentDetail::default()
        };
        assert_eq!(
            [1000, 1599, 1600].map(|now| fails_in(&deployment, now)),
            [Some(600), Some(1), None]
        );
        assert!(never_ran(&deployment, 1599).is_none() && never_ran(&deployment, 1600).is_some());
        let proven = DeploymentDetail { unproven: false, ..deployment };
        assert_eq!(fails_in(&proven, 1000), None, "Kubernetes says so of it");
    }
}
