//! What a reconcile came to: how it is counted, and when the resource is looked at again.

use std::time::Duration;

use llsd_plan::plan::Planning;
use llsd_plan::problems::{Findings, Reason};
use llsd_plan::resource::Key;
use llsd_plan::rollout::Refused;
use llsd_plan::status::Applied;

use super::context::Context;
use super::pipeline::{CarriedOut, PipelineResult};
use super::state::{Next, Settings};
use super::steps::observe::Observation;
use crate::operator::backoff::jittered;
use crate::operator::telemetry::{Generation, Reconcile};

/// How soon an object that stands in the way, or a kind that is not served, is looked for again.
const IN_THE_WAY: Duration = Duration::from_secs(10);
/// The same for a shared object that does not hold what it should, which concerns all servers of a namespace: a watch
/// tells that it is gone, so this is for what was missed.
const OF_ANOTHER_CONTENT: Duration = Duration::from_mins(5);

/// Counts and logs what was found and done, and remembers what the resource waits for.
pub fn record(context: &Context, key: &Key, progress: &PipelineResult) {
    context.secrets.set_waiting(key, progress.planning.waits_for_a_secret());
    if let Planning::Refused(findings) = &progress.planning {
        findings.problems.iter().for_each(|problem| context.metrics.problem(problem.reason));
        context.metrics.config_generation(Generation::Failed);
    }
    let Some(plan) = progress.plan() else { return };
    if !plan.withheld.is_empty() {
        context.served.look_soon();
    }
    let Some(Ok(applied)) = &progress.carried_out else { return };
    if let Some(config) = plan.objects.config_map.as_ref().filter(|_| plan.generated.is_some()) {
        let name = config.metadata.name.as_deref().unwrap_or_default();
        let is_written = applied.written.contains(&format!("ConfigMap {name}"));
        let result = if is_written { Generation::Written } else { Generation::Unchanged };
        context.metrics.config_generation(result);
    }
    if !applied.written.is_empty() || !applied.deleted.is_empty() {
        let (written, deleted) = (applied.written.join(", "), applied.deleted.join(", "));
        tracing::info!(resource = %key, written, deleted, "applied");
    }
}

/// How it is counted, and what is next. What was refused for want of a right is tried again: nobody
/// tells when it is granted.
pub fn outcome(
    settings: &Settings,
    planning: &Planning,
    carried_out: &CarriedOut,
    now: &Observation,
    is_denied: bool,
) -> (Reconcile, Next) {
    let (result, next) = match (planning, carried_out) {
        (Planning::Unavailable { .. }, _) => (Reconcile::Unavailable, Next::Retry),
        (_, Some(Err(failure))) => match failure.refused {
            Refused::NotOurs => (Reconcile::Refused, Next::After(IN_THE_WAY)),
            Refused::OtherContent => {
                (Reconcile::Refused, Next::After(jittered(OF_ANOTHER_CONTENT, 0.5)))
            }
            Refused::Invalid => (Reconcile::Refused, settings.at_rest()),
            Refused::Denied => (Reconcile::Refused, Next::Retry),
            Refused::Forbidden | Refused::Unavailable => (Reconcile::Unavailable, Next::Retry),
        },
        // Claims of others are not watched.
        (Planning::Refused(findings), _) if lacks_a_claim(findings) => {
            (Reconcile::Refused, Next::After(IN_THE_WAY))
        }
        (Planning::Refused(_), _) => (Reconcile::Refused, settings.at_rest()),
        (Planning::Planned(_), Some(Ok(applied))) if !applied.undeleted.is_empty() => {
            (Reconcile::Unavailable, Next::Retry)
        }
        (Planning::Planned(plan), _) if !plan.withheld.is_empty() => {
            (Reconcile::Planned, Next::After(IN_THE_WAY))
        }
        (Planning::Planned(_), Some(Ok(applied))) => {
            // A server whose change waits is looked at as often as any other.
            let soon = [preflight_look(applied), now.next_look()].into_iter().flatten().min();
            (Reconcile::Planned, soon.map_or_else(|| settings.at_rest(), Next::After))
        }
        (Planning::Planned(_), None) => (Reconcile::Planned, next_look(settings, now)),
    };
    (result, if is_denied { Next::Retry } else { next })
}

/// When a resource is looked at again that nothing more can be done for now.
pub fn next_look(settings: &Settings, now: &Observation) -> Next {
    now.next_look().map_or_else(|| settings.at_rest(), Next::After)
}

/// When it is looked what a preflight says that goes on, or whose result is not in the status yet: the pod of its Job
/// is not watched.
fn preflight_look(applied: &Applied) -> Option<Duration> {
    let preflight = applied.preflight.as_ref().filter(|preflight| !preflight.is_recorded)?;
    let soon = Duration::from_secs(preflight.again.unsigned_abs());
    Some(jittered(soon, 0.1))
}

fn lacks_a_claim(findings: &Findings) -> bool {
    findings.problems.iter().any(|problem| problem.reason == Reason::ClaimNotFound)
}
