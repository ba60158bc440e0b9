//! Deletes what a resource no longer asks for, after everything that it does ask for is in place, and
//! once no pod needs it. Claims are never deleted here: data goes only with a resource that asks for
//! that.

use kube::Client;
use kube::api::{DeleteParams, Preconditions};
use llsd_plan::live::LiveObject;
use llsd_plan::objects::{ObjectKind, names};
use llsd_plan::plan::Plan;
use llsd_plan::resource::{Key, Resource};
use llsd_plan::rollout::Refused;
use llsd_plan::rollout::retention::{self, Names, PodSet};
use llsd_plan::rollout::storage_secrets;
use llsd_plan::status::Applied;

use crate::operator::controller::context::Context;
use crate::operator::controller::requests::api;
use crate::operator::controller::state::api_error::{failure, safe_message};
use crate::operator::controller::state::rights::Denials;
use crate::operator::controller::steps::history;
use crate::operator::telemetry::traces::TARGET;

/// Deletes what is not planned, and notes what was deleted, as `Ingress my-llama-ingress`. One that
/// cannot be deleted keeps nothing else.
#[tracing::instrument(target = TARGET, level = "trace", skip_all)]
pub async fn prune(
    context: &Context,
    resource: &Resource,
    plan: &Plan,
    applied: &mut Applied,
    denials: &Denials<'_>,
) -> Result<(), kube::Error> {
    let key = &resource.key;
    let live = context.cache.live(key);
    let mut referred = retention::referred(resource, plan);
    referred.extend(applied.kept.iter().flat_map(|kept| kept.needs.iter().cloned()));
    referred.extend(applied.preflight.iter().flat_map(|preflight| preflight.needs(&key.name)));
    for object in unplanned(context, resource, plan, &referred, &live, denials).await? {
        match delete(&context.client, key, object.kind, &object.name, &object.uid).await {
            Ok(()) => {
                context.cache.forget_object(key, object.kind, &object.name, &object.uid);
                applied.deleted.push(format!("{} {}", object.kind.name(), object.name));
            }
            Err(error) => {
                let failure = failure(&context.rights, object.kind, &object.name, &error);
                if failure.refused == Refused::Forbidden {
                    denials.add(failure.message.clone());
                }
                applied.undeleted.push(failure);
            }
        }
    }
    let deleted = denials.tolerate(storage_secrets(context, resource, &referred).await)?;
    applied.deleted.extend(deleted.into_iter().flatten());
    Ok(())
}

/// The objects of a resource that would be deleted.
pub async fn unplanned<'a>(
    context: &Context,
    resource: &Resource,
    plan: &Plan,
    referred: &Names,
    live: &'a [LiveObject],
    denials: &Denials<'_>,
) -> Result<Vec<&'a LiveObject>, kube::Error> {
    let mut unplanned = retention::unplanned(resource, referred, &plan.withheld, live);
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

/// Deletes one object of a resource. Where that fails it goes with the resource.
pub async fn delete_owned(context: &Context, key: &Key, object: &LiveObject) {
    match delete(&context.client, key, object.kind, &object.name, &object.uid).await {
        Ok(()) => {
            context.cache.forget_object(key, object.kind, &object.name, &object.uid);
        }
        Err(error) => {
            let error = safe_message(&error);
            tracing::debug!(resource = %key, object = %object.name, error, "not deleted");
        }
    }
}

/// The ReplicaSets of a resource's Deployment.
async fn pod_sets(context: &Context, key: &Key) -> Result<Vec<PodSet>, kube::Error> {
    let listed = history::replica_sets(context, key).await?;
    Ok(listed.into_iter().map(PodSet::from_replica_set).collect())
}

/// Deletes the Secrets with connection strings that nothing refers to. They are not watched: the Deployment
/// has a record of them. Earlier operators had none, so once in the life of this process it is looked
/// whether their Secret is left; a resource that was never changed had no other plan.
async fn storage_secrets(
    context: &Context,
    resource: &Resource,
    referred: &Names,
) -> Result<Vec<String>, kube::Error> {
    let key = &resource.key;
    let gone = context.memory.secrets_gone(key, referred);
    let is_left = |name: &String| !gone.contains(name) && !referred.contains(&secret(name));
    let live = context.cache.live(key);
    let deployment = live.iter().find_map(LiveObject::deployment);
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
    // Whoever goes back to one of these sets needs the very Secret.
    let pod_sets = pod_sets(context, key).await?;
    left.retain(|name| !pod_sets.iter().any(|set| set.needs.contains(&secret(name))));
    let mut deleted = Vec::new();
    for name in left {
        if let Some(uid) = owned_secret(context, resource, &name).await? {
            delete(&context.client, key, ObjectKind::Secret, &name, &uid).await?;
            deleted.push(format!("Secret {name}"));
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
) -> Result<Option<String>, kube::Error> {
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

/// Deletes this very object; one that is gone already is fine.
async fn delete(
    client: &Client,
    key: &Key,
    kind: ObjectKind,
    name: &str,
    uid: &str,
) -> Result<(), kube::Error> {
    let parameters = DeleteParams {
        preconditions: Some(Preconditions { uid: Some(uid.to_owned()), resource_version: None }),
        ..DeleteParams::background()
    };
    match api::owned_in(client, &key.namespace, kind).delete(name, &parameters).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 || status.code == 409 => Ok(()),
        Err(error) => Err(error),
    }
}
