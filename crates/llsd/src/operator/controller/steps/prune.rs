//! Deletes what a resource no longer asks for, after everything that it does ask for is in place, and
//! once no pod needs it. Claims are never deleted here: data goes only with a resource that asks for
//! that.

use llsd_plan::live::LiveObject;
use llsd_plan::objects::{ObjectKind, names};
use llsd_plan::plan::Plan;
use llsd_plan::resource::{Key, Resource};
use llsd_plan::rollout::retention::{self, Names, PodSet};
use llsd_plan::rollout::{Refused, WriteFailure, storage_secrets};
use llsd_plan::status::Applied;

use super::history;
use super::writer::Writer;
use crate::operator::controller::context::Context;
use crate::operator::controller::requests::api;
use crate::operator::controller::state::{Denials, failure};
use crate::operator::telemetry::traces::TARGET;

/// What was deleted.
#[derive(Debug, Default)]
pub struct Pruned {
    pub deleted: Vec<(ObjectKind, String)>,
    /// Objects that could not be deleted.
    pub undeleted: Vec<WriteFailure>,
}

/// Deletes those of `objects` that are not planned. One that cannot be deleted keeps nothing else.
#[tracing::instrument(target = TARGET, level = "trace", skip_all)]
pub async fn prune<W: Writer>(
    context: &Context,
    writer: &mut W,
    resource: &Resource,
    plan: &Plan,
    applied: &Applied,
    objects: &[LiveObject],
    denials: &Denials<'_>,
) -> kube::Result<Pruned> {
    let mut referred = retention::referred(resource, plan);
    referred.extend(applied.kept.iter().flat_map(|kept| kept.needs.iter().cloned()));
    referred.extend(applied.preflight.iter().flat_map(|preflight| preflight.needs()));
    let mut pruned = Pruned::default();
    for object in unplanned(context, resource, plan, &referred, objects, denials).await? {
        match writer.delete(object.kind, &object.name, &object.uid).await {
            Ok(()) => pruned.deleted.push((object.kind, object.name.to_string())),
            Err(error) => {
                let failure = failure(&context.rights, object.kind, &object.name, &error);
                if failure.refused == Refused::Forbidden {
                    denials.add(failure.message.clone());
                }
                pruned.undeleted.push(failure);
            }
        }
    }
    let secrets = prune_storage_secrets(context, writer, resource, &referred, objects).await;
    let secrets = denials.tolerate(secrets)?.unwrap_or_default();
    pruned.deleted.extend(secrets.into_iter().map(|name| secret(&name)));
    Ok(pruned)
}

/// The objects of a resource that are to be deleted.
async fn unplanned<'a>(
    context: &Context,
    resource: &Resource,
    plan: &Plan,
    referred: &Names,
    live: &'a [LiveObject],
    denials: &Denials<'_>,
) -> kube::Result<Vec<&'a LiveObject>> {
    let mut unplanned = retention::unplanned(resource, referred, &plan.withheld, live);
    // Secrets have a record of their own, below.
    unplanned.retain(|object| object.kind.is_watched());
    if retention::may_be_needed(&unplanned) {
        let pod_sets = denials.tolerate(pod_sets(context, &resource.key).await)?;
        unplanned.retain(|object| match &pod_sets {
            Some(sets) => !retention::is_needed(object, resource, sets),
            // Who cannot see what pods are started with deletes nothing that they may need.
            None => !retention::may_be_needed(&[*object]),
        });
    }
    Ok(unplanned)
}

/// The ReplicaSets of a resource's Deployment.
async fn pod_sets(context: &Context, key: &Key) -> kube::Result<Vec<PodSet>> {
    let listed = history::replica_sets(context, key).await?;
    Ok(listed.into_iter().map(PodSet::from_replica_set).collect())
}

/// Deletes the Secrets with connection strings that nothing refers to, and names them. They are not watched:
/// the Deployment has a record of them. Earlier operators had none, so once in the life of this process it is
/// looked whether their Secret is left; a resource that was never changed had no other plan.
async fn prune_storage_secrets<W: Writer>(
    context: &Context,
    writer: &mut W,
    resource: &Resource,
    referred: &Names,
    objects: &[LiveObject],
) -> kube::Result<Vec<String>> {
    let key = &resource.key;
    let gone = context.memory.secrets_gone(key, referred);
    let is_left = |name: &String| !gone.contains(name) && !referred.contains(&secret(name));
    let deployment = objects.iter().find_map(LiveObject::deployment);
    let mut left = deployment.map(storage_secrets::recorded).unwrap_or_default();
    left.retain(is_left);
    let never_changed = resource.generation == Some(1);
    let former = names::storage_secret(&key.name, None);
    if !never_changed && is_left(&former) {
        match owned_secret(context, resource, &former).await? {
            Some(_) => left.push(former),
            None => context.memory.set_secret_gone(key, former),
        }
    }
    if left.is_empty() {
        return Ok(Vec::new());
    }
    // A return to one of these sets needs the very Secret.
    let pod_sets = pod_sets(context, key).await?;
    left.retain(|name| !pod_sets.iter().any(|set| set.needs.contains(&secret(name))));
    let mut deleted = Vec::new();
    for name in left {
        if let Some(uid) = owned_secret(context, resource, &name).await? {
            writer.delete(ObjectKind::Secret, &name, &uid).await?;
            deleted.push(name.clone());
        }
        context.memory.set_secret_gone(key, name);
    }
    Ok(deleted)
}

fn secret(name: &str) -> (ObjectKind, String) {
    (ObjectKind::Secret, name.to_owned())
}

/// The uid of a Secret, if it is the resource's own.
async fn owned_secret(
    context: &Context,
    resource: &Resource,
    name: &str,
) -> kube::Result<Option<String>> {
    let api = api::owned_in(&context.client, &resource.key.namespace, ObjectKind::Secret);
    let found = api.get_metadata_opt(name).await?;
    let owned = found.filter(|secret| {
        let mut owners = secret.metadata.owner_references.iter().flatten();
        owners.any(|reference| {
            reference.controller == Some(true) && reference.uid == resource.owner()
        })
    });
    Ok(owned.and_then(|secret| secret.metadata.uid))
}
