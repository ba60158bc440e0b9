//! One resource from what is asked to what is there, in six steps: parse, references and gather,
//! plan, rollout, apply and prune, report. Nothing is kept from one time to the next but what is
//! cheap to lose.

use std::time::Duration;

use llsd_plan::live::LiveObject;
use llsd_plan::plan::{Plan, Planning};
use llsd_plan::resource::{Key, Resource};
use llsd_plan::rollout::{self, Refused, WriteFailure};
use llsd_plan::status::{Applied, Applying, Pass, TagNow};

use super::api_error::safe_message;
use super::context::Context;
use super::gather::{Gathering, gather};
use super::observe::{self, observe};
use super::queue::Next;
use super::report::report;
use super::{apply, prune, record_image};
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
        report(context, resource, Pass::Deleting, &now, &TagNow::Unknown).await?;
        return Ok((Reconcile::Deleted, Next::Rest));
    }
    // References and gather.
    let mut gathered = match gather(context, resource, &live).await? {
        Gathering::Complete(gathered) => gathered,
        Gathering::Awaiting(wait) => return Ok((Reconcile::Awaiting, Next::Await(wait))),
    };
    // Plan.
    let planning = gathered.plan(resource, &live);
    context.secrets.set_waiting(key, planning.waits_for_a_secret());

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
        apply::record(context, key, plan, applied);
        if context.memory.defers_report(resource, applied, context.queue.is_busy()) {
            return Ok((Reconcile::Planned, Next::After(Duration::ZERO)));
        }
        applied.written.extend(context.memory.take_unreported(key));
        if gathered.image_is_new {
            record_image::keep(context, resource, &gathered.facts.image).await;
        }
    }

    // Report.
    let now = observe(context, resource, plan).await?;
    if let (Some(Ok(applied)), Some(soon)) = (&mut carried_out, now.answers_soon(resource)) {
        context.memory.report_later(key, applied);
        return Ok((Reconcile::Planned, Next::After(soon)));
    }
    let applying = match &carried_out {
        None => Applying::Nothing,
        Some(Ok(applied)) => Applying::Applied(applied),
        Some(Err(failure)) => Applying::Failed(failure),
    };
    let pass = Pass::Reconciled { planning: &planning, applying };
    report(context, resource, pass, &now, &gathered.tag).await?;
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
    let running = apply::running(context, resource, &planned, live).await?;
    let rollout = rollout::decide(resource, planned, &running);
    apply::apply(context, resource, &rollout).await
}
