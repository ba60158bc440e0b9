//! What a Deployment records of the shared change that reached it last, and what follows from that: whether the
//! server is still changing, and whether it failed.

use serde::{Deserialize, Serialize};

use crate::live::DeploymentDetail;
use crate::rollout::rollback::GOOD_AFTER;

/// A change of shared inputs, as a Deployment records it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Wave {
    /// The inputs, each with the hash that is new; those of a namespace's objects with that namespace.
    pub inputs: Vec<String>,
    /// When it reached the server, in seconds.
    pub at: i64,
    /// The template with which it did, as the Deployment records it, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// The revision that the Deployment had before, where that was known: a later one than the next is of a restart
    /// for other reasons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,
    /// The server failed with it. That stays whatever becomes of its pods, or one that crashes again and again would
    /// pass as often as it starts.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// The server is a canary: others wait until it runs well with the change.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub canary: bool,
}

/// A server that a shared change has reached, and that has not proven itself with it yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub wave: Wave,
    pub stage: MemberStage,
}

/// How far a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberStage {
    /// Its pods are being replaced, or were a moment ago.
    Changing,
    Failed {
        /// No pod of it serves.
        is_down: bool,
    },
}

/// The same of a server that may have no part in it any more.
enum MemberProgress {
    UnderWay,
    /// Its rollout is complete, and in so many seconds it is known whether it is good.
    Settles(i64),
    Failed,
    Over,
}

impl Wave {
    /// Whether both are about the same new value of some input.
    pub fn has_input_of(&self, other: &Self) -> bool {
        share_an_input(&self.inputs, &other.inputs)
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

    /// Whether the rollout that a Deployment speaks of is the one that this change began.
    fn is_rolled_out_by(&self, deployment: &DeploymentDetail) -> bool {
        let is_next = |before: i64| deployment.revision <= before + 1;
        self.template.as_deref() == deployment.template.as_deref()
            && self.revision.is_none_or(is_next)
    }

    /// When that rollout was complete, where it is.
    fn completed_at(&self, deployment: &DeploymentDetail) -> Option<i64> {
        // With `Recreate` Kubernetes speaks of the rollout before until the old pods are gone.
        let told = deployment.completed_at.filter(|completed| *completed >= self.at);
        told.or_else(|| deployment.state.has_its_pods().then_some(self.at))
    }

    fn progress(&self, deployment: &DeploymentDetail, now: i64) -> MemberProgress {
        let DeploymentDetail { state, available_since, unavailable_since, deadline, .. } =
            deployment;
        if state.wanted == 0 {
            return MemberProgress::Over;
        }
        if self.failed {
            return MemberProgress::Failed;
        }
        if !self.is_rolled_out_by(deployment) {
            return MemberProgress::Over;
        }
        if !state.is_observed() {
            return MemberProgress::UnderWay;
        }
        if state.stuck.is_some() {
            return MemberProgress::Failed;
        }
        let Some(completed) = self.completed_at(deployment) else {
            return MemberProgress::UnderWay;
        };
        let is_down = state.available == 0;
        let Some(since) = unavailable_since.or_else(|| is_down.then_some(now)) else {
            let begun = available_since.map_or(completed, |since| since.max(completed));
            let rest = begun + GOOD_AFTER - now;
            return if rest > 0 { MemberProgress::Settles(rest) } else { MemberProgress::Over };
        };
        // What breaks down right after its rollout was complete is of its making; later it has other reasons.
        if since - completed >= GOOD_AFTER {
            return MemberProgress::Over;
        }
        // Where some pods serve, the others may be those that an autoscaler has just asked for.
        let rest = since + deadline - now;
        if is_down || rest <= 0 { MemberProgress::Failed } else { MemberProgress::Settles(rest) }
    }

    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(super) fn parse(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }
}

impl Member {
    /// `None` where no shared change reached the server, or it runs well with it.
    pub fn from_deployment(deployment: &DeploymentDetail, now: i64) -> Option<Self> {
        let wave = Wave::parse(deployment.wave.as_deref()?);
        let stage = match wave.progress(deployment, now) {
            MemberProgress::UnderWay | MemberProgress::Settles(_) => MemberStage::Changing,
            MemberProgress::Failed => {
                MemberStage::Failed { is_down: deployment.state.available == 0 }
            }
            MemberProgress::Over => return None,
        };
        Some(Self { wave, stage })
    }

    /// In how many seconds another stage is known although nothing happens: no event tells of it.
    pub fn changes_in(deployment: &DeploymentDetail, now: i64) -> Option<i64> {
        let wave = Wave::parse(deployment.wave.as_deref()?);
        match wave.progress(deployment, now) {
            MemberProgress::Settles(rest) => Some(rest),
            MemberProgress::UnderWay | MemberProgress::Failed | MemberProgress::Over => None,
        }
    }

    pub fn is_changing(&self) -> bool {
        self.stage == MemberStage::Changing
    }

    pub fn has_failed(&self) -> bool {
        !self.is_changing()
    }

    /// Whether it failed, and no pod of it serves.
    pub fn is_down(&self) -> bool {
        self.stage == MemberStage::Failed { is_down: true }
    }
}

/// Whether both name the same new value of some input.
pub(super) fn share_an_input(inputs: &[String], others: &[String]) -> bool {
    inputs.iter().any(|input| others.contains(input))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::DeploymentState;

    const CHANGING: Option<MemberStage> = Some(MemberStage::Changing);
    const DOWN: Option<MemberStage> = Some(MemberStage::Failed { is_down: true });
    const SERVES: Option<MemberStage> = Some(MemberStage::Failed { is_down: false });

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
            available_since: completed_at.filter(|_| available > 0),
            deadline: 600,
            ..DeploymentDetail::default()
        }
    }

    fn with(wave: &Wave, live: &DeploymentDetail) -> DeploymentDetail {
        DeploymentDetail { wave: Some(wave.text().into()), ..live.clone() }
    }

    fn stage(deployment: &DeploymentDetail, now: i64) -> Option<MemberStage> {
        Member::from_deployment(deployment, now).map(|member| member.stage)
    }

    fn stuck(available: i32) -> DeploymentDetail {
        let mut stuck = live(available, None);
        stuck.state.stuck = Some(("ProgressDeadlineExceeded".into(), "late".into()));
        stuck.state.replicas = 2;
        stuck
    }

    #[test]
    fn a_server_is_changing_until_it_was_available_for_a_minute() {
        assert_eq!(stage(&live(0, None), 100), CHANGING);
        let complete = live(1, Some(100));
        assert_eq!([stage(&complete, 159), stage(&complete, 160)], [CHANGING, None]);
        assert_eq!(
            [100, 159, 160].map(|now| Member::changes_in(&complete, now)),
            [Some(60), Some(1), None],
            "it is looked at then"
        );
        let away = DeploymentDetail { available_since: Some(130), ..complete.clone() };
        assert_eq!([stage(&away, 189), stage(&away, 190)], [CHANGING, None]);
        let other = DeploymentDetail { wave: None, ..live(0, None) };
        assert_eq!(stage(&other, 100), None, "it is down for another reason");
        let mut written = complete;
        written.state.generation = 2;
        assert_eq!(stage(&written, 500), CHANGING, "the numbers are of before");
        let mut asleep = live(0, None);
        asleep.state.wanted = 0;
        assert_eq!(stage(&asleep, 100), None);
    }

    #[test]
    fn what_breaks_down_later_has_other_reasons() {
        let later = DeploymentDetail { unavailable_since: Some(500), ..live(0, Some(100)) };
        assert_eq!(stage(&later, 500), None);
        let recent = Wave { at: 430, ..wave() };
        let mut recreated = with(&recent, &later);
        recreated.state.updated = 0;
        assert_eq!(stage(&recreated, 500), CHANGING, "its old pod goes first");
    }

    #[test]
    fn a_server_failed_that_is_stuck_or_breaks_down_within_a_minute() {
        assert_eq!(stage(&stuck(0), 100), DOWN);
        assert_eq!(stage(&stuck(1), 100), SERVES, "its old pod serves");
        let fell = DeploymentDetail { unavailable_since: Some(130), ..live(0, Some(100)) };
        assert_eq!(stage(&fell, 130), DOWN);
        let mut scaled = DeploymentDetail { unavailable_since: Some(130), ..live(1, Some(100)) };
        scaled.state.wanted = 3;
        assert_eq!(stage(&scaled, 729), CHANGING, "more pods may just have been asked for");
        assert_eq!(Member::changes_in(&scaled, 729), Some(1));
        assert_eq!(stage(&scaled, 730), SERVES, "they do not come");
    }

    #[test]
    fn a_failure_stays_whatever_becomes_of_the_pods() {
        let failed = Wave { failed: true, ..wave() };
        // Ready at 0, crash at 30, ready at 60, crash at 90: one look at the first crash is enough.
        let ready_again = DeploymentDetail { available_since: Some(60), ..live(1, Some(0)) };
        assert_eq!(stage(&with(&failed, &ready_again), 1000), SERVES);
        let fell_again = DeploymentDetail { unavailable_since: Some(90), ..live(0, Some(0)) };
        assert_eq!(stage(&with(&failed, &fell_again), 1000), DOWN);
        let returned = Wave { template: Some("new".into()), ..failed };
        assert_eq!(stage(&with(&returned, &live(1, Some(500))), 1000), SERVES, "it is back");
    }

    #[test]
    fn a_restart_for_other_reasons_has_no_part_in_the_wave() {
        let wave = Wave { template: Some("new".into()), revision: Some(3), ..wave() };
        let of = |template: &str, revision: i64| {
            let template = Some(template.into());
            stage(&DeploymentDetail { template, revision, ..with(&wave, &live(0, None)) }, 100)
        };
        assert_eq!(of("new", 3), CHANGING, "Kubernetes has not counted it yet");
        assert_eq!(of("new", 4), CHANGING);
        assert_eq!(of("new", 5), None, "its pods were restarted since");
        assert_eq!(of("other", 4), None, "the operator has applied another template since");
        let restarted = DeploymentDetail { revision: 5, ..with(&wave, &stuck(0)) };
        let restarted = DeploymentDetail { template: Some("new".into()), ..restarted };
        assert_eq!(stage(&restarted, 100), None, "its failure does not tell of the wave");
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
