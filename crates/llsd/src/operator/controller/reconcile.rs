//! One resource from what is asked to what is there, in six steps: parse, references and gather,
//! plan, rollout, apply and prune, report. Nothing is kept from one time to the next but what is
//! cheap to lose.

use std::time::Duration;

use llsd_plan::live::LiveObject;
use llsd_plan::plan::{Plan, Planning};
use llsd_plan::resource::{Key, Resource};
use llsd_plan::rollout::{self, WriteFailure};
use llsd_plan::status::{Applied, Applying, Pass, TagNow};

use crate::operator::controller::context::Context;
use crate::operator::controller::outcome::{self, CarriedOut, outcome};
use crate::operator::controller::state::api_error::safe_message;
use crate::operator::controller::state::queue::Next;
use crate::operator::controller::state::rights::Denials;
use crate::operator::controller::steps::apply;
use crate::operator::controller::steps::gather::{Gathering, gather};
use crate::operator::controller::steps::observe::{self, observe};
use crate::operator::controller::steps::prune;
use crate::operator::controller::steps::record_image;
use crate::operator::controller::steps::report::report;
use crate::operator::controller::steps::unwatched;
use crate::operator::telemetry::{Generation, Reconcile, traces};

/// Works on one resource, which the cache parses.
pub async fn reconcile(context: &Context, key: &Key) -> (Reconcile, Next) {
    let Some(resource) = traces::parse(|| context.cache.resource(key)) else {
        context.forget(key);
        return (Reconcile::Deleted, Next::Rest);
    };
    Box::pin(steps(context, &resource)).await.unwrap_or_else(|error| {
        tracing::warn!(resource = %key, error = safe_message(&error), "the API server is in the way");
        (Reconcile::Unavailable, Next::Retry)
    })
}

async fn steps(context: &Context, resource: &Resource) -> kube::Result<(Reconcile, Next)> {
    let key = &resource.key;
    let denials = Denials::new(&context.rights);
    if resource.deleting {
        let now = observe::of_objects(resource, &context.cache.live(key));
        report(context, resource, Pass::Deleting, &now, &TagNow::Unknown, &[]).await?;
        return Ok((Reconcile::Deleted, Next::Rest));
    }
    if resource.paused {
        let now = observe(context, resource, None, &denials).await?;
        let limits = denials.limitations();
        report(context, resource, Pass::Paused, &now, &TagNow::Unknown, &limits).await?;
        return Ok((Reconcile::Paused, outcome::next_look(&context.settings, &now)));
    }
    // References and gather.
    if !unwatched::can_be_planned(context, resource, &denials).await? {
        let mut limits = denials.limitations();
        limits.extend(unwatched::limitations(context, key, None, false));
        let now = observe::of_objects(resource, &context.cache.live(key));
        report(context, resource, Pass::Hindered, &now, &TagNow::Unknown, &limits).await?;
        return Ok((Reconcile::Unavailable, Next::Retry));
    }
    let live = context.cache.live(key);
    let mut gathered = match gather(context, resource, &live, &denials).await? {
        Gathering::Complete(gathered) => gathered,
        Gathering::Awaiting(wait) => return Ok((Reconcile::Awaiting, Next::Await(wait))),
    };
    // Plan.
    let planning = gathered.plan(resource, &live);
    context.secrets.set_waiting(key, planning.waits_for_a_secret());

    // Rollout, apply and prune.
    let mut plan = None;
    let mut carried_out: CarriedOut = None;
    match &planning {
        Planning::Planned(planned) => {
            plan = Some(&**planned);
            carried_out = Some(roll_out(context, resource, planned, live, &denials).await);
        }
        Planning::Unavailable { .. } => apply::account(context, resource, live).await,
        Planning::Refused(findings) => {
            findings.problems.iter().for_each(|problem| context.metrics.problem(problem.reason));
            context.metrics.config_generation(Generation::Failed);
        }
    }
    if let (Some(plan), Some(Ok(applied))) = (plan, &mut carried_out) {
        prune::prune(context, resource, plan, applied, &denials).await?;
        apply::record(context, key, plan, applied);
        if context.memory.defers_report(resource, applied, context.queue.is_busy()) {
            return Ok((Reconcile::Planned, Next::After(Duration::ZERO)));
        }
        applied.written.extend(context.memory.take_unreported(key));
        if gathered.images_are_new {
            record_image::keep(context, resource, &gathered.facts).await;
        }
    }
    if plan.is_some_and(|plan| !plan.withheld.is_empty()) {
        context.served.look_soon();
    }

    // Report.
    let now = observe(context, resource, plan, &denials).await?;
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
    let mut limits = denials.limitations();
    let is_denied = !limits.is_empty();
    let lacks_its_image = gathered.facts.image.unavailable.is_some();
    limits.extend(unwatched::limitations(context, key, plan, lacks_its_image));
    report(context, resource, pass, &now, &gathered.tag, &limits).await?;
    Ok(outcome(&context.settings, &planning, &carried_out, &now, is_denied))
}

/// Decides what of the plan may reach the running server, and carries that out.
async fn roll_out(
    context: &Context,
    resource: &Resource,
    plan: &Plan,
    live: Vec<LiveObject>,
    denials: &Denials<'_>,
) -> Result<Applied, WriteFailure> {
    let planned = plan.objects.in_order();
    let image_override = plan.image.image_override();
    let running = apply::running(context, resource, plan, &planned, live, denials).await?;
    let rollout = traces::rollout(|| rollout::decide(resource, planned, image_override, &running));
    apply::apply(context, resource, Some(plan), &rollout).await
}
