//! One resource from what is asked to what is there, in six steps: parse, references and gather,
//! plan, rollout, apply and prune, report. Nothing is kept from one time to the next but what is
//! cheap to lose.

use std::time::Duration;

use llsd_plan::live::LiveObject;
use llsd_plan::plan::{Plan, Planning, plan_beside};
use llsd_plan::resource::{Key, Resource};
use llsd_plan::rollout::{self, Refused, WriteFailure};
use llsd_plan::status::{Applied, Applying, Pass};

use super::api_error::safe_message;
use super::context::Context;
use super::gather::gather;
use super::observe::{self, observe};
use super::queue::Next;
use super::report::report;
use super::{apply, prune};
use crate::operator::telemetry::{Generation, Reconcile};

/// How soon an object that stands in the way is looked for again.
const IN_THE_WAY: Duration = Duration::from_secs(10);

/// Works on one resource, which the cache parses.
pub async fn reconcile(context: &Context, key: &Key) -> (Reconcile, Next) {
    let Some(resource) = context.cache.resource(key) else {
        return (Reconcile::Deleted, Next::Rest);
    };
    Box::pin(steps(context, &resource)).await.unwrap_or_else(|error| {
        tracing::warn!(resource = %key, error = safe_message(&error), "the API server is in the way");
        (Reconcile::Unavailable, Next::Retry)
    })
}

async fn steps(context: &Context, resource: &Resource) -> kube::Result<(Reconcile, Next)> {
    let key = &resource.key;
    let live = context.cache.live(key);
    if resource.deleting {
        let now = observe::of_deleted(resource, &live);
        report(context, resource, Pass::Deleting, &now, None).await?;
        return Ok((Reconcile::Deleted, Next::Rest));
    }
    // References and gather.
    let mut gathered = gather(context, resource, &live).await?;
    // Plan.
    let planning = plan_beside(resource, &mut gathered.facts, &live);
    context.secrets.set_waiting(key, waits_for_a_secret(&planning));

    // Rollout, apply and prune.
    let mut plan = None;
    let mut carried_out = None;
    match &planning {
        Planning::Planned(planned) => {
            plan = Some(&**planned);
            carried_out = Some(roll_out(context, resource, planned, live).await);
        }
        Planning::Unavailable { .. } => apply::account(context, resource, live).await,
        Planning::Refused(findings) => {
            findings.problems.iter().for_each(|problem| context.metrics.problem(problem.reason));
            context.metrics.config_generation(Generation::Failed);
        }
    }
    if let (Some(plan), Some(Ok(applied))) = (plan, &mut carried_out) {
        applied.deleted = prune::prune(context, resource, plan).await?;
        record(context, key, plan, applied);
        if context.memory.defers_report(resource, applied, context.queue.is_busy()) {
            return Ok((Reconcile::Planned, Next::After(Duration::ZERO)));
        }
        applied.written.extend(context.memory.take_unreported(key));
    }

    // Report.
    let now = observe(context, resource, plan).await?;
    let applying = match &carried_out {
        None => Applying::Nothing,
        Some(Ok(applied)) => Applying::Applied(applied),
        Some(Err(failure)) => Applying::Failed(failure),
    };
    let pass = Pass::Reconciled { planning: &planning, applying };
    report(context, resource, pass, &now, gathered.newer_digest.as_deref()).await?;
    Ok(match (&planning, carried_out) {
        (Planning::Unavailable { .. }, _) => (Reconcile::Unavailable, Next::Retry),
        (_, Some(Err(failure))) => match failure.refused {
            Refused::NotOurs => (Reconcile::Refused, Next::After(IN_THE_WAY)),
            Refused::Invalid => (Reconcile::Refused, context.settings.at_rest()),
            Refused::Unavailable => (Reconcile::Unavailable, Next::Retry),
        },
        (Planning::Refused(_), _) => (Reconcile::Refused, context.settings.at_rest()),
        (Planning::Planned(_), _) => {
            let next = now.next_look().map_or_else(|| context.settings.at_rest(), Next::After);
            (Reconcile::Planned, next)
        }
    })
}

/// Decides what of the plan may reach the running server, and carries that out.
async fn roll_out(
    context: &Context,
    resource: &Resource,
    plan: &Plan,
    live: Vec<LiveObject>,
) -> Result<Applied, WriteFailure> {
    let planned = plan.objects.in_order();
    let image_override = plan.image.image_override();
    let running = apply::running(context, resource, &planned, image_override, live).await?;
    let rollout = rollout::decide(resource, planned, image_override, &running);
    apply::apply(context, resource, &rollout).await
}

/// Whether only a change of a Secret can bring the resource on.
fn waits_for_a_secret(planning: &Planning) -> bool {
    let Planning::Refused(findings) = planning else { return false };
    findings.problems.iter().any(|problem| problem.reason.is_of_a_secret())
}

fn record(context: &Context, key: &Key, plan: &Plan, applied: &Applied) {
    if let Some(config) = &plan.objects.config_map {
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
