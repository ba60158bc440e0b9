//! What one status is computed from: what was observed, and what that comes to.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;

use super::observed::StatusInputs;
use super::obstacle::Obstacle;
use super::previous::Previous;
use super::rollout::RolloutProgress;
use super::stage::Stage;

pub(super) struct Situation<'a> {
    pub(super) observed: &'a StatusInputs<'a>,
    pub(super) stage: Stage<'a>,
    pub(super) rollout: RolloutProgress,
    pub(super) obstacle: Option<Obstacle>,
    pub(super) previous: Previous,
    /// Times are written in whole seconds, so a finer one would come back as another.
    pub(super) now: Time,
}

impl<'a> Situation<'a> {
    pub(super) fn new(observed: &'a StatusInputs<'a>) -> Self {
        let stage = Stage::reached(observed);
        let rollout = RolloutProgress::from_live(observed.live, stage.keeps_template());
        let previous = Previous::from_status(&observed.resource.status);
        let whole_second = Timestamp::from_second(observed.now.as_second());
        Self {
            observed,
            obstacle: Obstacle::find(&stage, &rollout, observed.live, &previous),
            stage,
            rollout,
            previous,
            now: Time(whole_second.unwrap_or(observed.now)),
        }
    }
}
