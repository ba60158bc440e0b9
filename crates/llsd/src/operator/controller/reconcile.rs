//! One resource from what is asked to what is there, in six steps: parse, references and gather,
//! plan, rollout, apply and prune, report. Nothing is kept from one time to the next but what is
//! cheap to lose.

use std::time::Duration;

use llsd_plan::live::LiveObject;
use llsd_plan::plan::{Plan, Planning, plan_beside};
use llsd_plan::resource::{Key, Resource};
use llsd_plan::rollout::{self, WriteFailure};
use llsd_plan::status::{Applied, Applying, Pass};

use super::api_error::safe_message;
use super::context::Context;
use super::gather::gather;
use super::observe::{self, observe};
use super::outcome::{CarriedOut, outcome};
use super::queue::Next;
use super::report::report;
use super::rights::Denials;
use super::{apply, prune, unwatched};
use crate::operator::telemetry::{Generation, Reconcile};

/// Works on one resource, which the cache parses.
pub async fn reconcile(context: &Context, key: &Key) -> (Reconcile, Next) {
    let Some(resource) = context.cache.resource(key) else {
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
        report(context, resource, Pass::Deleting, &now, None, &[]).await?;
        return Ok((Reconcile::Deleted, Next::Rest));
    }
    // References and gather.
    if !unwatched::can_be_planned(context, resource, &denials).await? {
        let mut limits = denials.limitations();
        limits.extend(unwatched::limitations(context, key, None, false));
        let now = observe::of_objects(resource, &context.cache.live(key));
        report(context, resource, Pass::Hindered, &now, None, &limits).await?;
        return Ok((Reconcile::Unavailable, Next::Retry));
    }
    let live = context.cache.live(key);
    let mut gathered = gather(context, resource, &live, &denials).await?;
    // Plan.
    let planning = plan_beside(resource, &mut gathered.facts, &live);
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
        record(context, key, plan, applied);
        if context.memory.defers_report(resource, applied, context.queue.is_busy()) {
            return Ok((Reconcile::Planned, Next::After(Duration::ZERO)));
        }
        applied.written.extend(context.memory.take_unreported(key));
    }
    if plan.is_some_and(|plan| !plan.withheld.is_empty()) {
        context.served.look_soon();
    }

    // Report.
    let now = observe(context, resource, plan, &denials).await?;
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
    report(context, resource, pass, &now, gathered.newer_digest.as_deref(), &limits).await?;
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
    let running = apply::running(context, resource, &planned, live, denials).await?;
    let rollout = rollout::decide(resource, planned, &running);
    apply::apply(context, resource, &rollout).await
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
