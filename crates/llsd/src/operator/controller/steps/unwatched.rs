//! What no watch shows: objects of kinds whose watch is not in sync are read one by one, so that
//! nothing is taken for missing that only cannot be seen. And what the operator cannot watch for a
//! resource, for its status.

use llsd_api::expose::Expose;
use llsd_plan::facts::Served;
use llsd_plan::live::LiveObject;
use llsd_plan::objects::{ObjectKind, names};
use llsd_plan::plan::Plan;
use llsd_plan::resource::{Key, Resource};
use llsd_plan::status::Limitation;

use crate::operator::controller::context::Context;
use crate::operator::controller::requests::api;
use crate::operator::controller::state::{Denials, MIRRORS, Trouble, Watched};

/// Whether an object was found by its name, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    Own(Box<LiveObject>),
    Foreign,
    Missing,
    /// It may not be read.
    Forbidden,
}

/// Brings what is known of a resource's objects up to date as far as planning needs it; whether enough is
/// known: how the operator is configured, and what runs.
pub async fn complete(
    context: &Context,
    resource: &Resource,
    objects: &mut Vec<LiveObject>,
    denials: &Denials<'_>,
) -> kube::Result<bool> {
    let namespace = &resource.key.namespace;
    if !context.configuration.is_known() {
        return Ok(false);
    }
    let needed = ObjectKind::ALL.iter().filter(|kind| is_needed_to_plan(**kind, resource));
    for kind in needed.copied().filter(|kind| is_out_of_sync(context, *kind, namespace)) {
        let Some(name) = names::only_name(kind, &resource.key.name) else { continue };
        let found = look(context, resource, kind, &name, denials).await?;
        if kind == ObjectKind::Deployment && found == Found::Forbidden {
            // Without it a running server would be taken for a new one.
            return Ok(false);
        }
        found.put_into(objects, kind, &name);
    }
    Ok(true)
}

impl Found {
    /// Puts the object in the place of what was known of it.
    pub fn put_into(self, objects: &mut Vec<LiveObject>, kind: ObjectKind, name: &str) {
        if self != Self::Forbidden {
            objects.retain(|known| !known.is_named(kind, name));
        }
        if let Self::Own(object) = self {
            objects.push(*object);
        }
    }
}

/// Whether a resource is planned and reported only when it is known what runs of this kind.
fn is_needed_to_plan(kind: ObjectKind, resource: &Resource) -> bool {
    let spec = resource.spec.as_ref();
    let workload = spec.and_then(|spec| spec.workload.as_ref());
    match kind {
        ObjectKind::Deployment | ObjectKind::Service => true,
        ObjectKind::ServiceAccount => {
            let overrides = workload.and_then(|workload| workload.overrides.as_ref());
            let is_named = overrides.is_some_and(|given| given.service_account_name.is_some());
            spec.is_some() && !is_named
        }
        ObjectKind::VolumeClaim => workload.is_some_and(|workload| workload.storage.is_some()),
        ObjectKind::Ingress => {
            let networking = spec.and_then(|spec| spec.networking.as_ref());
            let expose = networking.and_then(|networking| networking.expose.as_ref());
            expose.is_some_and(Expose::is_on)
        }
        ObjectKind::Secret
        | ObjectKind::ConfigMap
        | ObjectKind::NetworkPolicy
        | ObjectKind::DisruptionBudget
        | ObjectKind::Autoscaler
        | ObjectKind::Job
        | ObjectKind::HttpRoute
        | ObjectKind::Route
        | ObjectKind::ServiceMonitor => false,
    }
}

/// Reads one object that no watch shows, and puts it into the cache if it is the resource's own.
pub async fn look(
    context: &Context,
    resource: &Resource,
    kind: ObjectKind,
    name: &str,
    denials: &Denials<'_>,
) -> kube::Result<Found> {
    let key = &resource.key;
    let api = api::owned_in(&context.client, &key.namespace, kind);
    let Some(found) = denials.tolerate(api.get_opt(name).await)? else {
        return Ok(Found::Forbidden);
    };
    let Some(found) = found else {
        context.cache.forget_missing(key, kind, name);
        return Ok(Found::Missing);
    };
    let Some(own) = LiveObject::owned_by(kind, &found.json, resource) else {
        context.cache.forget_missing(key, kind, name);
        return Ok(Found::Foreign);
    };
    context.take_in(kind, &found.json);
    Ok(Found::Own(Box::new(own)))
}

/// Whether a kind is served and watched, and its watch does not show what is there.
pub fn is_out_of_sync(context: &Context, kind: ObjectKind, namespace: &str) -> bool {
    let is_served = !kind.is_optional() || context.served.get(kind.api()) == Served::Yes;
    is_served && kind.is_watched() && !context.synced.is_in_sync(Watched::Owned(kind), namespace)
}

/// What cannot be watched of what a resource needs: its own objects, the ConfigMaps that it refers to,
/// and where its image could not be looked up, the cluster's mirrors.
pub fn limitations(
    context: &Context,
    key: &Key,
    plan: Option<&Plan>,
    lacks_its_image: bool,
) -> Vec<Limitation> {
    if !context.synced.is_troubled() {
        return Vec::new();
    }
    let mut needed = vec![Watched::OperatorConfig, Watched::ConfigMaps];
    match plan {
        Some(plan) => {
            let kinds = plan.objects.in_order().into_iter().map(|object| object.kind);
            needed.extend(kinds.map(Watched::Owned));
        }
        None => needed.push(Watched::Owned(ObjectKind::Deployment)),
    }
    if lacks_its_image {
        let mirrors = MIRRORS.iter();
        needed.extend(mirrors.map(|(api, _)| Watched::Mirrors(api.plural)));
    }
    let troubled = needed.into_iter().filter_map(|watched| {
        let trouble = context.synced.trouble(watched, &key.namespace)?;
        Some((watched.plural(), trouble))
    });
    troubled
        .map(|(plural, trouble)| match trouble {
            Trouble::Forbidden(why) => Limitation::Forbidden(why),
            Trouble::NotServed => {
                Limitation::NotWatched(format!("the cluster does not serve {plural}"))
            }
            // Without the words, which change with every try.
            Trouble::NotAnswering(_) => {
                Limitation::NotWatched(format!("the API server does not list {plural}"))
            }
        })
        .collect()
}
