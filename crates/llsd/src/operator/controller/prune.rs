//! Deletes what a resource no longer asks for, after everything that it does ask for is in place.
//! Claims are never deleted here: data goes only with a resource that asks for that.

use std::collections::HashSet;

use k8s_openapi::api::apps::v1::ReplicaSet;
use kube::api::{DeleteParams, ListParams, Preconditions};
use kube::{Api, Client};
use llsd_plan::live::{Detail, LiveObject};
use llsd_plan::objects::{ObjectKind, labels, names};
use llsd_plan::plan::Plan;
use llsd_plan::resource::{Key, Resource};

use super::api;
use super::context::Context;

/// How many generated configurations are kept, whatever refers to them.
const CONFIGS_KEPT: usize = 2;

/// Deletes what is not planned; what was deleted, as `Ingress my-llama-ingress`.
pub async fn prune(
    context: &Context,
    resource: &Resource,
    plan: &Plan,
) -> Result<Vec<String>, kube::Error> {
    let key = &resource.key;
    let live = context.cache.live(key);
    let mut deleted = Vec::new();
    for object in unplanned(context, resource, plan, &live).await? {
        delete(&context.client, key, object.kind, &object.name, &object.uid).await?;
        context.cache.forget_object(key, object.kind, &object.name, &object.uid);
        deleted.push(format!("{} {}", object.kind.name(), object.name));
    }
    if plan.objects.storage_secret.is_none() {
        deleted.extend(storage_secret(context, resource).await?);
    } else {
        context.memory.set_storage_secret(key, true);
    }
    Ok(deleted)
}

/// The objects of a resource that would be deleted.
pub async fn unplanned<'a>(
    context: &Context,
    resource: &Resource,
    plan: &Plan,
    live: &'a [LiveObject],
) -> Result<Vec<&'a LiveObject>, kube::Error> {
    let planned: HashSet<(ObjectKind, String)> =
        plan.objects.in_order().iter().map(|object| (object.kind, object.name.clone())).collect();
    let mut unplanned: Vec<&LiveObject> = live
        .iter()
        .filter(|object| object.controller.as_deref() == Some(resource.owner()) && !object.deleting)
        .filter(|object| object.kind != ObjectKind::VolumeClaim)
        .filter(|object| !planned.contains(&(object.kind, object.name.to_string())))
        .collect();
    let configs = generated(&unplanned, &resource.key);
    if !configs.is_empty() {
        let kept = kept_configs(context, &resource.key, configs, live).await?;
        unplanned.retain(|object| !kept.contains(&*object.name));
    }
    Ok(unplanned)
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
