//! Every condition as it holds now, each in the file of what it is about. `statement` adds since when
//! it holds, from the status before.

pub(super) mod config;
mod deployment;
mod ready;
mod secrets;
mod server;
mod statement;
mod update_pending;

use super::observed::Observed;
use super::obstacle::Obstacle;
use super::previous::Previous;
use super::rollout::Rollout;
use super::stage::Stage;
use super::vocabulary::ConditionType;
use statement::Assessment;

pub(super) use statement::dated;

/// What is known of every condition, in the order in which they are listed.
pub(super) fn all(
    observed: &Observed<'_>,
    stage: &Stage<'_>,
    rollout: &Rollout,
    obstacle: Option<&Obstacle>,
    previous: &Previous,
) -> Vec<Assessment> {
    let mut assessments = vec![Assessment::Current(ready::ready(obstacle))];
    assessments.extend(ready::reconciling(obstacle).map(Assessment::Current));
    assessments.extend(ready::stalled(obstacle).map(Assessment::Current));
    assessments.push(config::generated(stage, observed.resource));
    assessments.push(secrets::resolved(stage));
    assessments.push(deployment::updated(stage, rollout));
    assessments.push(Assessment::Current(deployment::available(rollout)));
    assessments.push(Assessment::Current(deployment::ready(rollout)));
    assessments.push(Assessment::Current(server::health(observed.server)));
    assessments.extend(server::storage(observed.live).map(Assessment::Current));
    assessments.push(Assessment::Current(server::service(observed.live)));
    let pending = previous.condition(ConditionType::UpdatePending);
    assessments.extend(update_pending::pending(stage, observed.newer_digest, pending));
    assessments
}
