//! Looks after what the resources of a namespace share, the copies of the start programs. They have no owner
//! that the cluster would delete them with, so they are deleted here: once no resource is planned with them
//! and no pod template mounts them, also after the last resource of the namespace is gone.

use std::time::Duration;

use llsd_plan::live::LiveObject;
use llsd_plan::objects::ObjectKind;
use llsd_plan::resource::Key;
use llsd_plan::rollout::shared;

use super::context::Context;
use super::state::{Denials, Next, Watched};
use super::steps;
use crate::operator::backoff::{Backoff, jittered};
use crate::operator::telemetry::Reconcile;

/// How soon it is looked again whether a template of an earlier operator is forgotten, which ReplicaSets keep that
/// are not watched, or whether a right was granted.
const LATER: Duration = Duration::from_hours(1);

/// The same where no resource is left: what the last one owned goes in a moment, unless somebody keeps it.
const SOON: Backoff = Backoff { first: Duration::from_secs(2), longest: LATER };

/// `key` stands for a namespace.
pub async fn reconcile(context: &Context, key: &Key) -> kube::Result<(Reconcile, Next)> {
    let denials = Denials::new(&context.rights);
    let done = prune(context, key, &denials).await?;
    for lacking in denials.into_sentences() {
        tracing::warn!(namespace = %key.namespace, why = lacking, "start programs are not deleted");
    }
    Ok(done)
}

/// Deletes the copies that are not needed any more. Who may not see what mounts them keeps them.
async fn prune(
    context: &Context,
    key: &Key,
    denials: &Denials<'_>,
) -> kube::Result<(Reconcile, Next)> {
    let namespace = &key.namespace;
    let has_resources = has_resources(context, key);
    let known = context.cache.shared(namespace);
    let unplanned = shared::unplanned(&known, has_resources);
    if unplanned.is_empty() {
        return Ok(at_rest(context, key));
    }
    let needed = [Watched::Resources, Watched::Owned(ObjectKind::ConfigMap)];
    if !needed.into_iter().all(|watched| context.synced.is_in_sync(watched, namespace)) {
        return Ok((Reconcile::Unavailable, Next::Retry));
    }
    let (now, least_age) = (context.clock.now().as_second(), context.settings.least_age());
    let rest = |copy: &LiveObject| shared::settles_in(copy, least_age, now);
    let (young, settled): (Vec<_>, Vec<_>) =
        unplanned.into_iter().partition(|copy| rest(copy).is_some());
    let settles = young.into_iter().filter_map(rest).min();
    let settles = settles.map(|seconds| Duration::from_secs(seconds.unsigned_abs()));
    let deleted = delete_unmounted(context, key, &settled, denials).await?;
    let is_denied = !denials.limitations().is_empty();
    let look = (deleted < settled.len()).then(|| {
        if has_resources || is_denied {
            context.memory.forget(key);
            jittered(LATER, 0.25)
        } else {
            SOON.delay(context.memory.look_again(key))
        }
    });
    match look.into_iter().chain(settles).min() {
        Some(soon) => Ok((Reconcile::Shared, Next::After(soon))),
        None => Ok(at_rest(context, key)),
    }
}

/// Deletes those that no pod template mounts, and says how many went. What a Deployment mounts is known; only the
/// rest is looked for in what no watch shows.
async fn delete_unmounted(
    context: &Context,
    key: &Key,
    copies: &[&LiveObject],
    denials: &Denials<'_>,
) -> kube::Result<usize> {
    let namespace = &key.namespace;
    // Looked at again for each: whoever came meanwhile counts on what it saw.
    let is_needed = |copy: &LiveObject| {
        shared::is_planned(copy, has_resources(context, key))
            || context.cache.mounted(namespace).contains(&copy.name)
    };
    if copies.iter().all(|copy| is_needed(copy)) {
        return Ok(0);
    }
    let listed = steps::shared::mounted(context, namespace).await;
    let Some(mounted) = denials.tolerate(listed)? else { return Ok(0) };
    let mut deleted = 0;
    for copy in copies.iter().filter(|copy| !mounted.contains(&*copy.name)) {
        if is_needed(copy) {
            continue;
        }
        let gone = steps::shared::delete(context, key, copy).await;
        if denials.tolerate(gone)?.is_some() {
            deleted += 1;
            tracing::info!(%namespace, deleted = %copy.name, "no server mounts it any more");
        }
    }
    if deleted > 0 {
        // One that came while the deletion was under way looks again.
        context.wake_for_programs(namespace);
    }
    Ok(deleted)
}

fn has_resources(context: &Context, key: &Key) -> bool {
    context.cache.count_in(&key.namespace) > 0
}

fn at_rest(context: &Context, key: &Key) -> (Reconcile, Next) {
    context.memory.forget(key);
    (Reconcile::Shared, Next::Rest)
}
