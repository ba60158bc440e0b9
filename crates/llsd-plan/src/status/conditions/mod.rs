//! Every condition as it holds now, each in the file of what it is about. `statement` adds since when
//! it holds, from the status before.

mod access;
mod contended;
mod deployment;
mod inputs;
mod paused;
mod preflight;
mod ready;
mod server;
mod statement;
mod turn;

use super::situation::Situation;
use super::stage::Stage;
use super::vocabulary::ConditionType;
use statement::Assessment;

pub(super) use inputs::config_source;
pub(super) use preflight::record as preflight_record;
pub(super) use statement::dated;

/// What is known of every condition, in the order in which they are listed.
pub(super) fn all(situation: &Situation<'_>) -> Vec<Assessment> {
    let Situation { observed, stage, rollout, obstacle, previous, now } = situation;
    if let Stage::Contended(contention) = stage {
        return contended::contended(contention);
    }
    let obstacle = obstacle.as_ref();
    let mut assessments = vec![ready::ready(obstacle)];
    assessments.extend(ready::reconciling(obstacle));
    assessments.extend(ready::stalled(obstacle));
    if matches!(stage, Stage::Hindered(_)) {
        // What could not be looked at is as it was when it last could.
        assessments.extend(ConditionType::OF_THE_SERVER.map(Assessment::AsBefore));
        assessments.extend(access::limited(observed, stage));
        return assessments;
    }
    assessments.push(inputs::config_generated(stage, observed.resource));
    assessments.push(inputs::secrets_resolved(stage));
    assessments.push(deployment::updated(stage, rollout));
    assessments.push(deployment::available(rollout));
    assessments.push(deployment::ready(rollout));
    let health = previous.condition(ConditionType::HealthCheck);
    assessments.push(server::health(observed.server, observed.asks_callers(), health));
    assessments.extend(server::storage(observed.live));
    assessments.push(server::service(observed.live));
    let pending = previous.condition(ConditionType::UpdatePending);
    assessments.extend(deployment::update_pending(stage, observed.tag, pending));
    let checked = previous.condition(ConditionType::Preflight);
    assessments.extend(preflight::preflight(stage, checked));
    assessments.extend(deployment::rolled_back(stage, observed.live));
    assessments.extend(server::unguarded(observed));
    assessments.extend(server::models(observed.live));
    let paused = previous.condition(ConditionType::Paused);
    assessments.extend(paused::paused(stage, paused, observed.resource.generation));
    assessments.extend(contended::told_by_another(previous, now));
    assessments.extend(access::limited(observed, stage));
    assessments
}
