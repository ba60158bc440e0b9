//! Deletes what a resource no longer asks for, after everything that it does ask for is in place.
//! Claims are never deleted here: data goes only with a resource that asks for that.

use std::collections::HashSet;

use k8s_openapi::api::apps::v1::ReplicaSet;
use kube::api::{DeleteParams, ListParams, Preconditions};
use kube::{Api, Client};
use llsd_plan::live::{Detail, LiveObject};
use llsd_plan::objects::{ObjectKind, image_record, labels, names};
use llsd_plan::plan::Plan;
use llsd_plan::resource::{Key, Resource};
use llsd_plan::rollout::Refused;
use llsd_plan::status::Applied;

use super::api;
use super::api_error::{failure, safe_message};
use super::context::Context;
use super::rights::Denials;

/// How many generated configurations are kept, whatever refers to them.
const CONFIGS_KEPT: usize = 2;

/// Deletes what is not planned, and notes what was deleted, as `Ingress my-llama-ingress`. One that
/// cannot be deleted keeps nothing else.
pub async fn prune(
    context: &Context,
    resource: &Resource,
    plan: &Plan,
    applied: &mut Applied,
    denials: &Denials<'_>,
) -> Result<(), kube::Error> {
    let key = &resource.key;
    let live = context.cache.live(key);
    for object in unplanned(context, resource, plan, &live, denials).await? {
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
    if plan.objects.storage_secret.is_none() {
        let deleted = denials.tolerate(storage_secret(context, resource).await)?;
        applied.deleted.extend(deleted.flatten());
    } else {
        context.memory.set_storage_secret(key, true);
    }
    Ok(())
}

/// The objects of a resource that would be deleted.
pub async fn unplanned<'a>(
    context: &Context,
    resource: &Resource,
    plan: &Plan,
    live: &'a [LiveObject],
    denials: &Denials<'_>,
) -> Result<Vec<&'a LiveObject>, kube::Error> {
    let planned: HashSet<(ObjectKind, String)> =
        plan.objects.in_order().iter().map(|object| (object.kind, object.name.clone())).collect();
    let mut unplanned: Vec<&LiveObject> = live
        .iter()
        .filter(|object| object.controller.as_deref() == Some(resource.owner()) && !object.deleting)
        .filter(|object| object.kind != ObjectKind::VolumeClaim)
        .filter(|object| !is_record(object, &resource.key))
        // What leads to the server stays until what shall take its place can be made.
        .filter(|object| plan.withheld.is_empty() || !object.kind.is_exposure())
        .filter(|object| !planned.contains(&(object.kind, object.name.to_string())))
        .collect();
    let configs = generated(&unplanned, &resource.key);
    if !configs.is_empty() {
        let names: HashSet<Box<str>> = configs.iter().map(|config| config.name.clone()).collect();
        let kept = kept_configs(context, &resource.key, configs, live).await;
        // Who cannot see what pods are started with deletes nothing that they may need.
        let kept = denials.tolerate(kept)?.unwrap_or(names);
        unplanned.retain(|object| !kept.contains(&*object.name));
    }
    Ok(unplanned)
}

/// What was read of images is no part of a plan, and pruned by whoever keeps it.
fn is_record(object: &LiveObject, key: &Key) -> bool {
    object.kind == ObjectKind::ConfigMap && image_record::is_record(&object.name, &key.name)
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

/// Generated configurations that are not the planned one.
fn generated<'a>(unplanned: &[&'a LiveObject], key: &Key) -> Vec<&'a LiveObject> {
    let prefix = format!("{}-config-", key.name);
    let is_config = |child: &&&LiveObject| {
        child.kind == ObjectKind::ConfigMap
            && child.name.starts_with(&prefix)
            && matches!(child.detail, Detail::Config { hash: Some(_), .. })
    };
    unplanned.iter().filter(is_config).copied().collect()
}

/// The newest, and those that pods of an older rollout may still be started with.
async fn kept_configs(
    context: &Context,
    key: &Key,
    mut unplanned: Vec<&LiveObject>,
    live: &[LiveObject],
) -> Result<HashSet<Box<str>>, kube::Error> {
    unplanned.sort_by(|one, other| other.created.cmp(&one.created).then(one.name.cmp(&other.name)));
    let all = generated(&live.iter().collect::<Vec<_>>(), key).len();
    let newest = CONFIGS_KEPT.saturating_sub(all - unplanned.len());
    let mut kept: HashSet<Box<str>> =
        unplanned.iter().take(newest).map(|child| child.name.clone()).collect();
    if kept.len() == unplanned.len() {
        return Ok(kept);
    }
    let replica_sets: Api<ReplicaSet> = Api::namespaced(context.client.clone(), &key.namespace);
    let selector: Vec<String> = labels::selector(&key.name)
        .into_iter()
        .map(|(label, value)| format!("{label}={value}"))
        .collect();
    let listed = replica_sets.list(&ListParams::default().labels(&selector.join(","))).await?;
    for replica_set in listed {
        let template = replica_set.spec.and_then(|spec| spec.template);
        let pod = template.and_then(|template| template.spec);
        let volumes = pod.and_then(|pod| pod.volumes).unwrap_or_default();
        let maps = volumes.into_iter().filter_map(|volume| volume.config_map);
        kept.extend(maps.map(|map| map.name.into()));
    }
    Ok(kept)
}

/// Secrets are not watched. So once in the life of this process it is looked whether a Secret of an
/// earlier plan is left; a resource that was never changed had no other plan.
async fn storage_secret(
    context: &Context,
    resource: &Resource,
) -> Result<Option<String>, kube::Error> {
    let key = &resource.key;
    let never_changed = resource.generation == Some(1);
    if never_changed || context.memory.storage_secret(key) == Some(false) {
        return Ok(None);
    }
    let name = names::storage_secret(&key.name);
    let api = api::owned_in(&context.client, &key.namespace, ObjectKind::Secret);
    let found = api.get_metadata_opt(&name).await?;
    let owned = found.filter(|secret| {
        let mut owners = secret.metadata.owner_references.iter().flatten();
        owners.any(|reference| {
            reference.controller == Some(true) && reference.uid == resource.owner()
        })
    });
    let uid = owned.and_then(|secret| secret.metadata.uid);
    if let Some(uid) = &uid {
        delete(&context.client, key, ObjectKind::Secret, &name, uid).await?;
    }
    context.memory.set_storage_secret(key, false);
    Ok(uid.map(|_| format!("Secret {name}")))
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
