//! What is known of a resource's Deployment: how its pods are, and for which state of the resource
//! its template was made.

use serde_json::Value;

use super::reads::reads;
use super::time::seconds;
use crate::objects::{labels, start_program};
use crate::resource::Resource;
use crate::resource::external::INSTALL;
use crate::resource::template_inputs::{self, Inputs};
use crate::server::listening::Listening;

/// By which Kubernetes numbers the templates of a Deployment.
const REVISION: &str = "deployment.kubernetes.io/revision";

/// Kubernetes' own deadline of a rollout, in seconds.
const DEADLINE: i64 = 600;

/// The numbers and conditions of a Deployment from which its pods' state is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeploymentState {
    pub generation: i64,
    pub observed_generation: i64,
    /// `spec.replicas`.
    pub wanted: i32,
    pub replicas: i32,
    pub updated: i32,
    pub ready: i32,
    pub available: i32,
    /// Reason and message of the condition `Progressing` where it is False.
    pub stuck: Option<(String, String)>,
    /// Message of the condition `ReplicaFailure` where it is True.
    pub replica_failure: Option<String>,
    /// The image that the server's container runs.
    pub image: Option<String>,
}

/// What is known of a Deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeploymentDetail {
    pub state: DeploymentState,
    /// The images of external providers that its pods install.
    pub provider_images: Vec<Box<str>>,
    /// The state of the resource that the template belongs to.
    pub planned_for: Option<Box<str>>,
    /// The template is still that of an earlier operator.
    pub adopted: bool,
    /// The override of its distribution's image that held when it was adopted, where one did.
    pub adopted_override: Option<Box<str>>,
    /// The record of the inputs that the template was made from.
    pub inputs: Option<Box<str>>,
    /// The fingerprint of the template that was planned when it was last applied.
    pub template: Option<Box<str>>,
    /// The hash of the template whose pods the Deployment speaks of last.
    pub progress_of: Option<Box<str>>,
    /// Since when all pods of that template run, and since when any do; in seconds.
    pub completed_at: Option<i64>,
    pub available_since: Option<i64>,
    /// The last template that was available for a while, by its hash.
    pub last_good: Option<Box<str>>,
    /// That the template is one of before, and why.
    pub rolled_back: Option<Box<str>>,
    /// By its strategy old pods go before new ones come, as it is set only while no pod is available.
    pub old_pods_go_first: bool,
    /// The inputs from which that template was made.
    pub last_good_inputs: Option<Box<str>>,
    /// From which installation of the operator it was taken over, and when.
    pub taken_over: Option<Box<str>>,
    /// Which change of shared inputs has reached it.
    pub wave: Option<Box<str>>,
    /// The Secrets with connection strings that were made for its pods.
    pub storage_secrets: Option<Box<str>>,
    /// How the pods of its template listen.
    pub listening: Option<Listening>,
    /// How the pods of the template before listen, while they serve.
    pub serves: Option<Box<str>>,
    /// Its template was made while no pod was wanted, and no pod of it was available yet.
    pub unproven: bool,
    /// How many templates it has had, as Kubernetes counts them; zero where it does not say yet.
    pub revision: i64,
    /// Since when too few pods are available, in seconds, and for how long that may be.
    pub unavailable_since: Option<i64>,
    pub deadline: i64,
    /// What the pods of a template of before read of what changes without their resource.
    pub reads: Vec<Box<str>>,
    /// The copies of the start programs that its pods mount.
    pub programs: Vec<Box<str>>,
    /// Where there is no record of inputs.
    pub hashes: RecordedHashes,
}

/// The hashes that operators left before they recorded inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedHashes {
    pub secrets: Option<Box<str>>,
    pub user_config: Option<Box<str>>,
    pub ca_bundle: Option<Box<str>>,
}

impl DeploymentState {
    /// Reads the numbers and conditions of a Deployment.
    pub fn parse(object: &Value) -> Self {
        let number =
            |value: &Value| value.as_i64().and_then(|n| i32::try_from(n).ok()).unwrap_or(0);
        let (metadata, spec, status) = (&object["metadata"], &object["spec"], &object["status"]);
        let text = |condition: &Value, field: &str| {
            condition[field].as_str().unwrap_or_default().to_owned()
        };
        Self {
            generation: metadata["generation"].as_i64().unwrap_or(0),
            observed_generation: status["observedGeneration"].as_i64().unwrap_or(0),
            wanted: spec["replicas"].as_i64().map_or(1, |n| i32::try_from(n).unwrap_or(1)),
            replicas: number(&status["replicas"]),
            updated: number(&status["updatedReplicas"]),
            ready: number(&status["readyReplicas"]),
            available: number(&status["availableReplicas"]),
            stuck: condition(object, "Progressing", "False")
                .map(|condition| (text(condition, "reason"), text(condition, "message"))),
            replica_failure: condition(object, "ReplicaFailure", "True")
                .map(|condition| text(condition, "message")),
            image: spec["template"]["spec"]["containers"][0]["image"].as_str().map(str::to_owned),
        }
    }

    /// Whether the numbers and conditions speak of the Deployment as it is now.
    pub fn is_observed(&self) -> bool {
        self.observed_generation >= self.generation
    }

    /// Whether the numbers say that all wanted pods are new and available, and no old one is left. Right
    /// after the template has changed they speak of the one before.
    pub fn has_its_pods(&self) -> bool {
        let Self { wanted, replicas, updated, available, .. } = self;
        // More pods than wanted are an autoscaler's or just going. An old pod beside new ones still
        // counts as available, though, so it must be gone before the new ones can be called ready.
        updated >= wanted && available >= wanted && replicas <= updated
    }

    /// Whether all wanted pods are new and available, and no old one is left.
    pub fn is_complete(&self) -> bool {
        self.is_observed() && self.has_its_pods()
    }
}

/// The condition of this type, if it has this status.
fn condition<'a>(object: &'a Value, kind: &str, status: &str) -> Option<&'a Value> {
    let mut all = object["status"]["conditions"].as_array().into_iter().flatten();
    all.find(|condition| condition["type"] == kind && condition["status"] == status)
}

impl DeploymentDetail {
    /// Whether it was made for the state that the resource has now.
    pub fn is_for(&self, resource: &Resource) -> bool {
        self.planned_for.is_some() && self.planned_for.as_deref() == resource.state().as_deref()
    }

    /// How the pods listen that what surrounds them must follow: those of its template, once all of them are
    /// there or none serves; until then those of the template before.
    pub fn serving(&self) -> Option<Listening> {
        if self.state.available == 0 { self.listening.clone() } else { self.expected() }
    }

    /// The same where pods of the template before may still come to serve.
    pub fn expected(&self) -> Option<Listening> {
        let before = self.serves.as_deref().and_then(Listening::parse);
        before.filter(|_| !self.state.is_complete()).or_else(|| self.listening.clone())
    }

    /// Whether pods serve that ask nobody who they are.
    pub fn serves_open(&self) -> bool {
        self.state.available > 0 && self.serving().is_some_and(|serving| !serving.guarded)
    }

    /// Whether pods of its template are wanted and none was ever available: there is nothing to protect. What
    /// completed its rollout ran, and so did what the server went back to; where the Deployment says nothing yet, it
    /// may have. A rollout may also be a restart of pods that ran, which the cluster shows in no way, so only the first
    /// one, and one that took too long, say that nothing ran.
    pub fn never_ran(&self) -> bool {
        let Self { state, last_good, progress_of, rolled_back, .. } = self;
        let was_complete = self.completed_at.is_some() && !self.unproven;
        let is_of_before = rolled_back.is_some() || last_good.is_some() && last_good == progress_of;
        let is_told = self.revision == 1 || state.stuck.is_some();
        let is_known = state.is_observed() && progress_of.is_some() && is_told;
        let lacks_pods = state.wanted > 0 && state.available == 0;
        is_known && lacks_pods && !was_complete && !is_of_before
    }

    /// Whether its template was made from the spec that the resource has, with images resolved since the
    /// resource last asked for that.
    pub fn is_made_from(&self, resource: &Resource) -> bool {
        match &self.inputs {
            Some(recorded) => {
                let now = resource
                    .inputs()
                    .without(template_inputs::APPROVE)
                    .without(template_inputs::RETRY);
                !now.differ_from(&Inputs::parse(recorded))
            }
            None => self.is_for(resource),
        }
    }

    /// Whether images were resolved again since the resource last asked for that by its annotation.
    pub fn is_refreshed_for(&self, resource: &Resource) -> bool {
        let planned_for = self.planned_for.as_deref().unwrap_or_default();
        let refreshed = planned_for.split_once('-').map(|(_, refreshed)| refreshed);
        refreshed == resource.refreshed().as_deref()
    }

    pub(super) fn parse(object: &Value) -> Self {
        let metadata = &object["metadata"];
        let annotation = |name: &str| metadata["annotations"][name].as_str().map(Box::<str>::from);
        let has = |name: &str| annotation(name).is_some();
        let template = &object["spec"]["template"];
        Self {
            state: DeploymentState::parse(object),
            provider_images: provider_images(object),
            planned_for: annotation(labels::PLANNED_FOR),
            adopted: annotation(labels::ADOPTED).is_some(),
            adopted_override: annotation(labels::ADOPTED_OVERRIDE),
            hashes: if has(labels::INPUTS) {
                RecordedHashes::default()
            } else {
                RecordedHashes {
                    secrets: annotation(labels::SECRET_HASH),
                    user_config: annotation(labels::USER_CONFIG_HASH),
                    ca_bundle: annotation(labels::CA_BUNDLE_HASH),
                }
            },
            inputs: annotation(labels::INPUTS),
            template: annotation(labels::TEMPLATE_HASH),
            revision: annotation(REVISION).and_then(|number| number.parse().ok()).unwrap_or(0),
            progress_of: progress_of(object),
            completed_at: condition(object, "Progressing", "True")
                .filter(|condition| condition["reason"] == "NewReplicaSetAvailable")
                .and_then(|condition| seconds(&condition["lastUpdateTime"])),
            available_since: condition(object, "Available", "True")
                .and_then(|condition| seconds(&condition["lastTransitionTime"])),
            last_good: annotation(labels::LAST_GOOD),
            rolled_back: annotation(labels::ROLLED_BACK),
            old_pods_go_first: object["spec"]["strategy"]["rollingUpdate"]["maxSurge"] == 0,
            last_good_inputs: annotation(labels::LAST_GOOD_INPUTS),
            taken_over: annotation(labels::TAKEN_OVER),
            wave: annotation(labels::WAVE),
            storage_secrets: annotation(labels::STORAGE_SECRETS),
            listening: Listening::of_template(template),
            serves: annotation(labels::SERVES),
            unproven: annotation(labels::UNPROVEN).is_some(),
            unavailable_since: condition(object, "Available", "False")
                .and_then(|condition| seconds(&condition["lastTransitionTime"])),
            deadline: object["spec"]["progressDeadlineSeconds"].as_i64().unwrap_or(DEADLINE),
            reads: if has(labels::ROLLED_BACK) { reads(template) } else { Vec::new() },
            programs: start_program::mounted(template).map(Box::from).collect(),
        }
    }
}

fn provider_images(object: &Value) -> Vec<Box<str>> {
    let all = object["spec"]["template"]["spec"]["initContainers"].as_array().into_iter().flatten();
    let installs =
        all.filter(|it| it["name"].as_str().is_some_and(|name| name.starts_with(INSTALL)));
    installs.filter_map(|container| Some(container["image"].as_str()?.into())).collect()
}

/// The hash in the name of the ReplicaSet of which the condition `Progressing` speaks, as in
/// `ReplicaSet "llama-5d4f8b" has timed out progressing.`
fn progress_of(object: &Value) -> Option<Box<str>> {
    let all = object["status"]["conditions"].as_array()?;
    let progressing = all.iter().find(|condition| condition["type"] == "Progressing")?;
    let named = progressing["message"].as_str()?.split('"').nth(1)?;
    let deployment = object["metadata"]["name"].as_str()?;
    Some(named.strip_prefix(deployment)?.strip_prefix('-')?.into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Of a Deployment that says this of its rollout, has so many available pods and this record.
    fn never_ran(progress: (&str, &str), available: i32, record: Option<(&str, &str)>) -> bool {
        never_ran_as("1", progress, available, record)
    }

    /// The same of this revision.
    fn never_ran_as(
        revision: &str,
        progress: (&str, &str),
        available: i32,
        record: Option<(&str, &str)>,
    ) -> bool {
        let (status, reason) = progress;
        let mut deployment = json!({
            "metadata": {"name": "llama", "annotations": {REVISION: revision}},
            "status": {
                "replicas": 1, "updatedReplicas": 1, "availableReplicas": available,
                "conditions": [{
                    "type": "Progressing", "status": status, "reason": reason,
                    "message": "ReplicaSet \"llama-5d4f\" is as it is.",
                    "lastUpdateTime": "2026-01-01T00:00:00Z",
                }],
            },
        });
        if let Some((name, value)) = record {
            deployment["metadata"]["annotations"][name] = json!(value);
        }
        DeploymentDetail::parse(&deployment).never_ran()
    }

    #[test]
    fn a_server_never_ran_if_its_rollout_was_never_complete_and_no_pod_is_available() {
        let late = ("False", "ProgressDeadlineExceeded");
        let complete = ("True", "NewReplicaSetAvailable");
        for progress in [("True", "ReplicaSetUpdated"), late] {
            assert!(never_ran(progress, 0, None));
            assert!(never_ran(progress, 0, Some((labels::LAST_GOOD, "77aa"))), "another one ran");
            assert!(!never_ran(progress, 1, None), "a pod serves");
            assert!(!never_ran(progress, 0, Some((labels::LAST_GOOD, "5d4f"))), "it ran before");
            assert!(!never_ran(progress, 0, Some((labels::ROLLED_BACK, "{}"))), "it ran before");
        }
        assert!(never_ran_as("2", late, 0, None), "a change that took too long");
        let starts = ("True", "ReplicaSetUpdated");
        assert!(
            !never_ran_as("2", starts, 0, None),
            "a change that starts, or pods that start again"
        );
        assert!(!never_ran(complete, 0, None), "it ran, and is in trouble now");
        let unproven = Some((labels::UNPROVEN, "true"));
        assert!(never_ran(complete, 0, unproven), "it was complete while no pod was wanted");
        let unknown = DeploymentDetail::parse(&json!({"metadata": {"name": "llama"}}));
        assert!(!unknown.never_ran(), "the Deployment says nothing yet");
    }
}
