//! The watches that feed the cache and wake resources: the operator's own resource, everything it
//! owns and ConfigMaps that resources refer to. That of the operator's own configuration stands in
//! `operator_config`.

use std::collections::HashSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::core::{ApiResource, PartialObjectMeta};
use kube::runtime::watcher::{Config, Event};
use kube::{Api, ResourceExt};
use llsd_plan::facts;
use llsd_plan::objects::ca_bundle::OPENSHIFT_AI_BUNDLE;
use llsd_plan::objects::{ObjectKind, labels, start_program};
use llsd_plan::resource::Key;
use tokio::task::JoinSet;

use super::follow::follow;
use super::operator_config;
use crate::operator::controller::context::Context;
use crate::operator::controller::requests::api;
use crate::operator::controller::requests::object::Object;
use crate::operator::controller::state::{Part, ResourceNews, Watch, Watched};

/// Objects that one answer of the API server holds: a large list is never in memory as a whole. A
/// Deployment with its managed fields takes 25 KB on the wire, and ten times that while it is read.
const PAGE: u32 = 20;

/// The same for metadata alone, of which a cluster may have tens of thousands.
const METADATA_PAGE: u32 = 250;

/// Starts the watches of all that every cluster serves.
pub fn start(context: &Arc<Context>, tasks: &mut JoinSet<()>) {
    let synced = &context.synced;
    for part in context.settings.scope.parts() {
        tasks.spawn(resources(Arc::clone(context), synced.expect(Watched::Resources, &part)));
        tasks.spawn(config_maps(Arc::clone(context), synced.expect(Watched::ConfigMaps, &part)));
        for kind in ObjectKind::ALL.iter().copied() {
            if kind.is_watched() && !kind.is_optional() {
                let watch = synced.expect(Watched::Owned(kind), &part);
                tasks.spawn(children(Arc::clone(context), kind, watch));
            }
        }
        if context.settings.watch_secrets {
            tasks.spawn(secrets(Arc::clone(context), synced.expect(Watched::Secrets, &part)));
        }
    }
    let watch = synced.expect(Watched::OperatorConfig, &Part::Cluster);
    tasks.spawn(operator_config::keep(Arc::clone(context), watch));
}

async fn resources(context: Arc<Context>, watch: Watch) {
    let part = watch.part().clone();
    let api: Api<Object> = part.api(&context.client, &api::distribution());
    let mut listed = HashSet::new();
    let take = |event| match event {
        Event::Init => listed.clear(),
        Event::InitApply(object) => {
            listed.insert(Object::key(&object));
            seen(&context, object);
        }
        Event::Apply(object) => seen(&context, object),
        Event::InitDone => {
            let is_covered = |key: &Key| part.holds(&key.namespace);
            for key in context.cache.resource_keys() {
                if is_covered(&key) && !listed.contains(&key) {
                    gone(&context, &key);
                }
            }
            listed = HashSet::new();
        }
        Event::Delete(object) => gone(&context, &object.key()),
    };
    follow(&context, watch, api, Config::default().page_size(PAGE), take).await;
}

fn seen(context: &Context, object: Object) {
    let key = object.key();
    match context.cache.put_resource(&key, object.json) {
        ResourceNews::Nothing => {}
        ResourceNews::Status => context.queue.add(&key),
        ResourceNews::Asked => {
            context.servers.ask_after_change(&key);
            context.queue.add_changed(&key);
        }
    }
}

fn gone(context: &Context, key: &Key) {
    context.cache.remove_resource(key);
    context.forget(key);
    // Whoever works on it now looks again, and forgets what was noted meanwhile.
    context.queue.add(key);
    if !context.cache.shared(&key.namespace).is_empty() {
        context.queue.add(&Key::of_namespace(&key.namespace));
    }
}

/// The objects of one kind that belong to resources.
pub async fn children(context: Arc<Context>, kind: ObjectKind, watch: Watch) {
    let part = watch.part().clone();
    let api: Api<Object> = part.api(&context.client, &api::owned(kind));
    let ours = format!("{}={}", labels::MANAGED_BY, labels::OPERATOR);
    let mut listed = HashSet::new();
    let take = |event| {
        let woken = match event {
            Event::Init => {
                listed.clear();
                None
            }
            Event::InitApply(object) => {
                listed.insert(Object::key(&object));
                context.take_in(kind, &object.json)
            }
            Event::Apply(object) => context.take_in(kind, &object.json),
            Event::InitDone => {
                let woken =
                    context.cache.keep_objects(kind, &listed, |key| part.holds(&key.namespace));
                wake_owners(&context, &woken);
                listed = HashSet::new();
                None
            }
            Event::Delete(object) => context.cache.remove_object(kind, &object.json),
        };
        if let Some(key) = woken {
            wake_owners(&context, &[key]);
        }
        if kind == ObjectKind::Job {
            context.pass_slots_on();
        }
    };
    follow(&context, watch, api, Config::default().labels(&ours).page_size(PAGE), take).await;
}

/// Only metadata: the content of ConfigMaps is asked for when it is needed.
async fn config_maps(context: Arc<Context>, watch: Watch) {
    let part = watch.part().clone();
    let api: Api<PartialObjectMeta<ConfigMap>> = part.typed(&context.client);
    let mut bundles = HashSet::new();
    let wake = |namespace: &str, name: &str| {
        context.wake(&context.cache.users(namespace, name));
        if start_program::is_copy(name) {
            // Also one that is not labelled as ours and stands in the way of ours.
            context.wake_for_programs(namespace);
        }
    };
    // What is known of bundles changes first: whoever is woken looks at it.
    let changed = |object: &PartialObjectMeta<ConfigMap>, is_there: bool| {
        let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
        if name == OPENSHIFT_AI_BUNDLE {
            context.bundles.set(&namespace, is_there);
        }
        wake(&namespace, &name);
    };
    let take = |event: Event<PartialObjectMeta<ConfigMap>>| match event {
        Event::Init => bundles.clear(),
        Event::InitApply(object) => {
            let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
            if name == OPENSHIFT_AI_BUNDLE {
                bundles.insert(namespace.as_str().into());
            }
            wake(&namespace, &name);
        }
        Event::Apply(object) => changed(&object, true),
        Event::InitDone => {
            for namespace in context.bundles.replace(&part, std::mem::take(&mut bundles)) {
                wake(&namespace, OPENSHIFT_AI_BUNDLE);
            }
        }
        Event::Delete(object) => changed(&object, false),
    };
    follow(&context, watch, api, Config::default().page_size(METADATA_PAGE), take).await;
}

/// The opt-in watch of Secrets, of their metadata alone.
async fn secrets(context: Arc<Context>, watch: Watch) {
    let api: Api<PartialObjectMeta<Secret>> = watch.part().typed(&context.client);
    let take = |event: Event<PartialObjectMeta<Secret>>| {
        if let Event::Apply(object) | Event::Delete(object) = event {
            let namespace = object.namespace().unwrap_or_default();
            let woken = context.secrets.changed(&namespace, &object.name_any());
            context.wake(&woken);
        }
    };
    follow(&context, watch, api, Config::default().page_size(METADATA_PAGE), take).await;
}

/// The mirror objects of one kind.
pub async fn mirrors(context: Arc<Context>, api: facts::Api, kind: &'static str, watch: Watch) {
    let facts::Api { group, version, plural } = api;
    let resource = ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: format!("{group}/{version}"),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    };
    let api: Api<Object> = Api::all_with(context.client.clone(), &resource);
    let mut listed = HashSet::new();
    let take = |event: Event<Object>| {
        let set = |name: &str, object| context.configuration.set_mirrors(kind, name, object);
        let changed = match event {
            Event::Init => {
                listed.clear();
                false
            }
            Event::InitApply(object) => {
                listed.insert(object.name_any());
                set(&object.name_any(), Some(&object.json))
            }
            Event::Apply(object) => set(&object.name_any(), Some(&object.json)),
            Event::Delete(object) => set(&object.name_any(), None),
            Event::InitDone => {
                context.configuration.keep_mirrors(kind, &std::mem::take(&mut listed))
            }
        };
        if changed {
            context.wake_part(&Part::Cluster);
        }
    };
    follow(&context, watch, api, Config::default().page_size(PAGE), take).await;
}

/// Wakes those that objects belong to: resources, or a namespace whose resources share what is missing now.
fn wake_owners(context: &Context, keys: &[Key]) {
    for key in keys {
        context.queue.add(key);
        if key.is_of_namespace() {
            context.wake_for_programs(&key.namespace);
        }
    }
}
