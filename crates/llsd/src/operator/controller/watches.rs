//! The watches that feed the cache and wake resources: the operator's own resource, everything it
//! owns and ConfigMaps that resources refer to. That of the operator's own configuration stands in
//! `operator_config`.

use std::collections::HashSet;
use std::sync::Arc;

use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::core::{ApiResource, PartialObjectMeta};
use kube::runtime::watcher::{Config, Error, Event};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, ResourceExt};
use llsd_plan::objects::ca_bundle::OPENSHIFT_AI_BUNDLE;
use llsd_plan::objects::{ObjectKind, labels};
use llsd_plan::resource::Key;
use tokio::task::JoinSet;

use super::api;
use super::context::Context;
use super::object::Object;
use super::operator_config;
use super::scope::{Part, Scope};
use super::synced::{Pending, Synced};

/// Objects that one answer of the API server holds: a large list is never in memory as a whole. A
/// Deployment with its managed fields takes 25 KB on the wire, and ten times that while it is read.
const PAGE: u32 = 20;

/// The same for metadata alone, of which a cluster may have tens of thousands.
const METADATA_PAGE: u32 = 250;

/// The mirror objects of OpenShift.
const MIRRORS: [(&str, &str, &str, &str); 3] = [
    ("config.openshift.io", "v1", "ImageDigestMirrorSet", "imagedigestmirrorsets"),
    ("config.openshift.io", "v1", "ImageTagMirrorSet", "imagetagmirrorsets"),
    ("operator.openshift.io", "v1alpha1", "ImageContentSourcePolicy", "imagecontentsourcepolicies"),
];

/// Starts all watches.
pub fn start(context: &Arc<Context>, tasks: &mut JoinSet<()>) -> Arc<Synced> {
    let synced = Synced::new();
    let served = &context.served;
    for part in context.settings.scope.parts() {
        tasks.spawn(resources(Arc::clone(context), part.clone(), synced.expect()));
        tasks.spawn(config_maps(Arc::clone(context), part.clone(), synced.expect()));
        for kind in ObjectKind::ALL.iter().copied().filter(|kind| kind.is_watched()) {
            if !kind.is_optional() || served.contains(kind.group()) {
                tasks.spawn(children(Arc::clone(context), kind, part.clone(), synced.expect()));
            }
        }
        if context.settings.watch_secrets {
            tasks.spawn(secrets(Arc::clone(context), part.clone()));
        }
    }
    tasks.spawn(operator_config::keep(Arc::clone(context), synced.expect()));
    if matches!(context.settings.scope, Scope::Cluster) {
        for mirror in MIRRORS.into_iter().filter(|(group, ..)| served.contains(*group)) {
            tasks.spawn(mirrors(Arc::clone(context), mirror, synced.expect()));
        }
    }
    synced
}

async fn resources(context: Arc<Context>, part: Part, mut pending: Pending) {
    pending.begin().await;
    let api: Api<Object> = part.api(&context.client, &api::distribution());
    let mut listed = HashSet::new();
    let mut events = std::pin::pin!(events(api, Config::default()));
    while let Some(event) = events.next().await {
        match event {
            Event::Init => listed.clear(),
            Event::InitApply(object) => {
                listed.insert(object.key());
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
                pending.done();
            }
            Event::Delete(object) => gone(&context, &object.key()),
        }
    }
}

fn seen(context: &Context, object: Object) {
    let key = object.key();
    if context.cache.put_resource(&key, object.json) {
        context.queue.add(&key);
    }
}

fn gone(context: &Context, key: &Key) {
    context.cache.remove_resource(key);
    context.secrets.forget(key);
    context.memory.forget(key);
    // Not that there is anything to do, but whoever works on it now looks again.
    context.queue.add(key);
}

async fn children(context: Arc<Context>, kind: ObjectKind, part: Part, mut pending: Pending) {
    pending.begin().await;
    let api: Api<Object> = part.api(&context.client, &api::owned(kind));
    let ours = format!("{}={}", labels::MANAGED_BY, labels::OPERATOR);
    let mut listed = HashSet::new();
    let mut events = std::pin::pin!(events(api, Config::default().labels(&ours)));
    while let Some(event) = events.next().await {
        let woken = match event {
            Event::Init => {
                listed.clear();
                None
            }
            Event::InitApply(object) => {
                listed.insert(object.key());
                context.cache.put_object(kind, &object.json)
            }
            Event::Apply(object) => context.cache.put_object(kind, &object.json),
            Event::InitDone => {
                let woken =
                    context.cache.keep_objects(kind, &listed, |key| part.holds(&key.namespace));
                wake(&context, &woken);
                listed = HashSet::new();
                pending.done();
                None
            }
            Event::Delete(object) => context.cache.remove_object(kind, &object.json),
        };
        if let Some(key) = woken {
            context.queue.add(&key);
        }
    }
}

/// Only metadata: the content of ConfigMaps is asked for when it is needed.
async fn config_maps(context: Arc<Context>, part: Part, mut pending: Pending) {
    pending.begin().await;
    let api: Api<PartialObjectMeta<ConfigMap>> = part.typed(&context.client);
    let mut bundles = HashSet::new();
    let stream = watcher(api, Config::default().page_size(METADATA_PAGE)).default_backoff();
    let mut stream = std::pin::pin!(logged(stream));
    let wake = |namespace: &str, name: &str| {
        wake(&context, &context.cache.users(namespace, name));
    };
    // What is known of bundles changes first: whoever is woken looks at it.
    let changed = |object: &PartialObjectMeta<ConfigMap>, is_there: bool| {
        let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
        if name == OPENSHIFT_AI_BUNDLE {
            context.bundles.set(&namespace, is_there);
        }
        wake(&namespace, &name);
    };
    while let Some(event) = stream.next().await {
        match event {
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
                pending.done();
            }
            Event::Delete(object) => changed(&object, false),
        }
    }
}

/// The opt-in watch of Secrets, of their metadata alone.
async fn secrets(context: Arc<Context>, part: Part) {
    let api: Api<PartialObjectMeta<Secret>> = part.typed(&context.client);
    let stream = watcher(api, Config::default().page_size(METADATA_PAGE)).default_backoff();
    let mut stream = std::pin::pin!(logged(stream));
    while let Some(event) = stream.next().await {
        if let Event::Apply(object) | Event::Delete(object) = event {
            let namespace = object.namespace().unwrap_or_default();
            let woken = context.secrets.changed(&namespace, &object.name_any());
            wake(&context, &woken);
        }
    }
}

async fn mirrors(
    context: Arc<Context>,
    (group, version, kind, plural): (&str, &str, &str, &str),
    mut pending: Pending,
) {
    pending.begin().await;
    let resource = ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: format!("{group}/{version}"),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    };
    let api: Api<Object> = Api::all_with(context.client.clone(), &resource);
    let mut events = std::pin::pin!(events(api, Config::default()));
    while let Some(event) = events.next().await {
        let changed = match event {
            Event::Init => false,
            Event::InitApply(object) | Event::Apply(object) => {
                context.configuration.set_mirrors(kind, &object.name_any(), Some(&object.json))
            }
            Event::Delete(object) => {
                context.configuration.set_mirrors(kind, &object.name_any(), None)
            }
            Event::InitDone => {
                pending.done();
                false
            }
        };
        if changed {
            wake_all(&context);
        }
    }
}

fn wake_all(context: &Context) {
    wake(context, &context.cache.resource_keys());
}

fn wake(context: &Context, keys: &[Key]) {
    for key in keys {
        context.queue.add(key);
    }
}

/// The events of a watch that never ends: what fails is logged and tried again, with backoff.
fn events(api: Api<Object>, config: Config) -> impl Stream<Item = Event<Object>> + Send {
    logged(watcher(api, config.page_size(PAGE)).default_backoff())
}

fn logged<K>(
    stream: impl Stream<Item = Result<Event<K>, Error>> + Send,
) -> impl Stream<Item = Event<K>> + Send
where
    K: Send,
{
    stream.filter_map(async |event| match event {
        Ok(event) => Some(event),
        Err(error) => {
            tracing::warn!(%error, "a watch was interrupted and goes on");
            None
        }
    })
}
