//! What a Deployment records of the shared change that reached it last, and what follows from that: whether the
//! server is still changing, and whether it failed.

use serde::{Deserialize, Serialize};

use crate::live::DeploymentDetail;
use crate::rollout::rollback::{GOOD_AFTER, Return};

/// A change of shared inputs, as a Deployment records it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Wave {
    /// The inputs, each with the hash that is new; those of a namespace's objects with that namespace.
    pub inputs: Vec<String>,
    /// When it reached the server, in seconds.
    pub at: i64,
    /// The server ran an earlier state already when the change reached it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub was_back: bool,
    /// Whatever becomes of the server does not tell of the shared change: its user has changed it since.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub forgiven: bool,
}

/// A server that a shared change has reached, and that does not run with it yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub wave: Wave,
    /// Its pods are being replaced, or do not come back.
    pub is_changing: bool,
    pub has_failed: bool,
}

impl Wave {
    /// Whether both are about the same new value of some input.
    pub fn has_input_of(&self, other: &Self) -> bool {
        self.inputs.iter().any(|input| other.inputs.contains(input))
    }

    /// The same with the inputs of a wave that had reached the server already, but for those that are new again.
    #[must_use]
    pub(super) fn beside(mut self, earlier: &Self) -> Self {
        let name = |input: &str| input.rsplit_once('=').map(|(name, _)| name.to_owned());
        let new: Vec<_> = self.inputs.iter().map(|input| name(input)).collect();
        let earlier = earlier.inputs.iter().filter(|input| !new.contains(&name(input)));
        self.inputs.extend(earlier.cloned());
        self
    }

    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(super) fn parse(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }
}

impl Member {
    /// `None` where no shared change reached the server, or it runs with it.
    pub fn from_deployment(deployment: &DeploymentDetail) -> Option<Self> {
        let wave = Wave::parse(deployment.wave.as_deref()?);
        let DeploymentDetail { state, unavailable_since, .. } = deployment;
        // With `Recreate` Kubernetes speaks of the rollout before until the old pods are gone.
        let completed_at = deployment.completed_at.filter(|completed| *completed >= wave.at);
        // What breaks down right after its rollout was complete is of its making.
        let fell = unavailable_since.zip(completed_at).is_some_and(|(since, completed)| {
            (0..GOOD_AFTER).contains(&(since - completed)) && state.available < state.wanted
        });
        // Once complete, whatever happens to its pods has other reasons.
        let is_complete = state.has_its_pods() || completed_at.is_some() && !fell;
        let is_stuck = state.is_observed() && state.stuck.is_some();
        // Kubernetes has given up on it while its old pods serve: nothing is down.
        let serves_as_before = is_stuck && state.available > 0;
        let is_over = state.is_observed() && is_complete || serves_as_before;
        let is_changing = state.wanted > 0 && !is_over;
        let back = deployment.rolled_back.as_deref().map(Return::parse);
        let is_back = !wave.was_back && back.is_some_and(|back| !back.is_asked_for());
        let has_failed = !wave.forgiven && (is_back || state.wanted > 0 && (is_stuck || fell));
        (is_changing || has_failed).then_some(Self { wave, is_changing, has_failed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::DeploymentState;

    fn wave() -> Wave {
        Wave { inputs: vec!["ca-bundle=11".to_owned()], ..Wave::default() }
    }

    fn live(available: i32, completed_at: Option<i64>) -> DeploymentDetail {
        DeploymentDetail {
            state: DeploymentState {
                wanted: 1,
                replicas: 1,
                updated: 1,
                available,
                ..DeploymentState::default()
            },
            wave: Some(wave().text().into()),
            completed_at,
            ..DeploymentDetail::default()
        }
    }

    fn told(deployment: &DeploymentDetail) -> Option<(bool, bool)> {
        let member = Member::from_deployment(deployment)?;
        Some((member.is_changing, member.has_failed))
    }

    #[test]
    fn a_server_is_changing_until_its_rollout_is_complete() {
        assert_eq!(told(&live(0, None)), Some((true, false)));
        assert_eq!(told(&live(1, None)), None);
        assert_eq!(told(&live(1, Some(100))), None);
        let other = DeploymentDetail { wave: None, ..live(0, None) };
        assert_eq!(told(&other), None, "it is down for another reason");
        let mut written = live(1, Some(100));
        written.state.generation = 2;
        assert_eq!(told(&written), Some((true, false)), "the numbers are of before");
        let mut asleep = live(0, None);
        asleep.state.wanted = 0;
        assert_eq!(told(&asleep), None);
        let later = DeploymentDetail { unavailable_since: Some(500), ..live(0, Some(100)) };
        assert_eq!(told(&later), None, "it is down for another reason");
        let recent = Wave { at: 130, ..wave() };
        let mut recreated = DeploymentDetail { wave: Some(recent.text().into()), ..later };
        recreated.state.updated = 0;
        assert_eq!(told(&recreated), Some((true, false)), "its old pod goes first");
    }

    #[test]
    fn a_server_failed_that_is_stuck_or_fell_or_went_back() {
        let mut stuck = live(0, None);
        stuck.state.stuck = Some(("ProgressDeadlineExceeded".into(), "late".into()));
        assert_eq!(told(&stuck), Some((true, true)));
        let mut serves = stuck.clone();
        (serves.state.replicas, serves.state.available) = (2, 1);
        assert_eq!(told(&serves), Some((false, true)), "its old pod serves");
        let fell = DeploymentDetail { unavailable_since: Some(130), ..live(0, Some(100)) };
        assert_eq!(told(&fell), Some((true, true)));
        let back = |why: &str| {
            let back = Return { to: "5d4f".into(), why: why.into(), ..Return::default() };
            DeploymentDetail { rolled_back: Some(back.text().into()), ..live(1, Some(100)) }
        };
        assert_eq!(told(&back("timed out")), Some((false, true)), "it serves as before");
        assert_eq!(told(&back("")), None, "its user asked for that");
        let was_back = Wave { was_back: true, ..wave() };
        let back = DeploymentDetail { wave: Some(was_back.text().into()), ..back("timed out") };
        assert_eq!(told(&back), None, "it was back before");
        let forgiven = Wave { forgiven: true, ..wave() };
        let forgiven = DeploymentDetail { wave: Some(forgiven.text().into()), ..stuck };
        assert_eq!(told(&forgiven), Some((true, false)));
    }

    #[test]
    fn a_later_change_of_the_same_input_takes_the_place_of_the_earlier() {
        let wave = |inputs: &[&str]| Wave {
            inputs: inputs.iter().map(|it| (*it).to_owned()).collect(),
            ..Wave::default()
        };
        let both = wave(&["ca-bundle=2"]).beside(&wave(&["ca-bundle=1", "image=1"]));
        assert_eq!(both, wave(&["ca-bundle=2", "image=1"]));
        assert!(both.has_input_of(&wave(&["image=1"])));
        assert!(!both.has_input_of(&wave(&["ca-bundle=1"])));
    }
}
