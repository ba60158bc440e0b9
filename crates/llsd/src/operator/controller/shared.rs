//! Looks after what the resources of a namespace share, the copies of the start programs. They have no owner
//! that the cluster would delete them with, so they are deleted here: once no resource is planned with them
//! and no pod template mounts them, also after the last resource of the namespace is gone.

use std::time::Duration;

use llsd_plan::objects::ObjectKind;
use llsd_plan::resource::Key;
use llsd_plan::rollout::shared;

use super::context::Context;
use super::state::{Next, Watched};
use super::steps;
use crate::operator::telemetry::Reconcile;

/// How soon it is looked again whether a template of an earlier operator is forgotten. ReplicaSets are not
/// watched.
const LATER: Duration = Duration::from_hours(1);

/// `key` stands for a namespace.
pub async fn reconcile(context: &Context, key: &Key) -> kube::Result<(Reconcile, Next)> {
    let namespace = &key.namespace;
    let has_resources = !context.cache.resources_in(namespace).is_empty();
    let known = context.cache.shared(namespace);
    let unplanned = shared::unplanned(&known, has_resources);
    if unplanned.is_empty() {
        return Ok((Reconcile::Shared, Next::Rest));
    }
    let needed = [Watched::Resources, Watched::Owned(ObjectKind::ConfigMap)];
    if !needed.into_iter().all(|watched| context.synced.is_in_sync(watched, namespace)) {
        return Ok((Reconcile::Unavailable, Next::Retry));
    }
    let mounted = steps::shared::mounted(context, namespace).await?;
    let mut is_mounted = false;
    for copy in unplanned {
        if mounted.contains(&*copy.name) {
            is_mounted = true;
            continue;
        }
        steps::shared::delete(context, key, copy).await?;
        tracing::info!(namespace = %namespace, deleted = %copy.name, "no server mounts it any more");
    }
    let next = match is_mounted {
        false => Next::Rest,
        // What the last resource owned goes in a moment.
        true if !has_resources => Next::Retry,
        true => Next::After(LATER),
    };
    Ok((Reconcile::Shared, next))
}
