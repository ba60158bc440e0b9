//! What the Deployment's numbers say: whether the pods that are wanted run, and what is in the way
//! where they do not.

use super::messages::counted;
use super::observed::ObservedObjects;
use super::remedy::with_remedy;
use crate::live::DeploymentState;

/// How far the Deployment is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Progress {
    /// There is no Deployment.
    #[default]
    Missing,
    UnderWay,
    /// Kubernetes gave up waiting for it.
    Stuck,
    /// All wanted pods are new and available, and no old one is left.
    Complete,
}

#[derive(Clone, Debug, Default)]
pub(super) struct RolloutProgress {
    pub(super) progress: Progress,
    /// What is in the way of a rollout that is not complete; each begins with a word and a colon.
    pub(super) troubles: Vec<String>,
    pub(super) wanted: i32,
    pub(super) replicas: i32,
    pub(super) ready: i32,
    pub(super) available: i32,
    /// How far it is, in a sentence that begins with `Deployment is`.
    sentence: String,
}

impl RolloutProgress {
    /// `template_stays` says that whatever was just written to the Deployment changes no pod.
    pub(super) fn from_live(live: &ObservedObjects, template_stays: bool) -> Self {
        let Some(deployment) = &live.deployment else {
            return Self { sentence: "Deployment is pending".to_owned(), ..Self::default() };
        };
        let progress = progress(deployment, template_stays);
        let troubles = match progress {
            Progress::Complete | Progress::Missing => Vec::new(),
            Progress::UnderWay | Progress::Stuck => troubles(deployment, live),
        };
        Self {
            progress,
            troubles,
            wanted: deployment.wanted,
            replicas: deployment.replicas,
            ready: deployment.ready,
            available: deployment.available,
            sentence: sentence(deployment, progress),
        }
    }

    /// How far it is and what is in the way.
    pub(super) fn message(&self) -> String {
        self.with_troubles(&self.sentence)
    }

    /// A sentence, and what is in the way.
    pub(super) fn with_troubles(&self, sentence: &str) -> String {
        let troubles = self.troubles.iter().map(String::as_str);
        std::iter::once(sentence).chain(troubles).collect::<Vec<_>>().join("; ")
    }
}

fn progress(deployment: &DeploymentState, template_stays: bool) -> Progress {
    if deployment.is_complete() || template_stays && deployment.has_its_pods() {
        Progress::Complete
    } else if deployment.is_observed() && deployment.stuck.is_some() {
        Progress::Stuck
    } else {
        Progress::UnderWay
    }
}

fn troubles(deployment: &DeploymentState, live: &ObservedObjects) -> Vec<String> {
    let (mut stuck, mut failure) = (None, None);
    // Before it is observed, its conditions are those of the rollout before.
    if deployment.is_observed() {
        stuck = deployment.stuck.as_ref().map(|(reason, message)| format!("{reason}: {message}"));
        let message = deployment.replica_failure.as_ref();
        failure = message.map(|message| format!("ReplicaFailure: {message}"));
    }
    let serves = deployment.available > 0;
    let of_pods = [failure, live.pod_trouble.clone()].into_iter().flatten();
    stuck.into_iter().chain(of_pods.map(|trouble| with_remedy(trouble, serves))).collect()
}

/// v0.9's sentences where it has one.
fn sentence(deployment: &DeploymentState, progress: Progress) -> String {
    let DeploymentState { wanted, replicas, updated, ready, .. } = *deployment;
    if progress == Progress::Complete {
        "Deployment is ready".to_owned()
    } else if ready == 0 && replicas <= updated {
        "Deployment is pending".to_owned()
    } else if !deployment.is_observed() {
        "Deployment is rolling out".to_owned()
    } else if replicas > updated && updated < wanted {
        format!("Deployment is rolling out: {updated}/{wanted} replicas updated")
    } else if replicas > updated {
        let left = usize::try_from(replicas - updated).unwrap_or_default();
        format!("Deployment is rolling out: {} left", counted(left, "old replica"))
    } else {
        format!("Deployment is scaling: {ready}/{wanted} replicas ready")
    }
}
