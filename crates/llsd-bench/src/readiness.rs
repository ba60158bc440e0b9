//! Stands in for the Deployments' controller: every Deployment is Ready as soon as it is seen. And
//! knows how far the operator is.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use llsd_testkit::ControlPlane;
use serde_json::json;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::CONCURRENCY;

/// Between two tries of a status write.
const RETRY: Duration = Duration::from_millis(500);

/// How many there are by now.
#[derive(Debug)]
pub struct Progress {
    deployments: Counter,
    changed: Counter,
    resources: Counter,
    _watches: JoinSet<()>,
}

/// A number that grows and that others wait for.
#[derive(Clone, Debug, Default)]
pub struct Counter(Arc<(AtomicUsize, Notify)>);

impl Counter {
    fn set(&self, count: usize) {
        self.0.0.store(count, Ordering::SeqCst);
        self.0.1.notify_waiters();
    }

    pub fn now(&self) -> usize {
        self.0.0.load(Ordering::SeqCst)
    }

    pub async fn reaches(&self, count: usize) {
        loop {
            let changed = self.0.1.notified();
            if self.now() >= count {
                return;
            }
            changed.await;
        }
    }
}

impl Progress {
    /// Deployments that exist.
    pub fn deployments(&self) -> &Counter {
        &self.deployments
    }

    /// How often the spec of a Deployment was changed after it was created, over all.
    pub fn changes(&self) -> &Counter {
        &self.changed
    }

    /// Resources that are Ready.
    pub fn resources(&self) -> &Counter {
        &self.resources
    }
}

/// Works, in one namespace or in all, until what it returns is dropped.
pub fn start(cluster: &ControlPlane, namespace: Option<&str>, version: &str) -> Progress {
    // A user that the audit log leaves out: the stand-in is not what is measured.
    let client = cluster.client_for("system:kubelet-stand-in", &["system:masters"]);
    let (deployments, changed, resources) = Default::default();
    let progress = Progress { deployments, changed, resources, _watches: JoinSet::new() };
    let mut watches = JoinSet::new();
    let of = |group, version, kind| api(&client, namespace, group, version, kind);
    watches.spawn(follow_deployments(
        of("apps", "v1", "Deployment"),
        client.clone(),
        progress.deployments.clone(),
        progress.changed.clone(),
    ));
    let resources = of("llamastack.io", version, "LlamaStackDistribution");
    watches.spawn(follow_resources(resources, progress.resources.clone()));
    Progress { _watches: watches, ..progress }
}

fn api(
    client: &Client,
    namespace: Option<&str>,
    group: &str,
    version: &str,
    kind: &str,
) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

fn key(object: &DynamicObject) -> (Option<String>, String) {
    (object.namespace(), object.name_any())
}

async fn follow_deployments(
    watched: Api<DynamicObject>,
    client: Client,
    count: Counter,
    changed: Counter,
) {
    let seen = std::sync::Mutex::new((HashMap::new(), 0));
    let objects = watcher(watched, watcher::Config::default()).default_backoff();
    objects
        .applied_objects()
        .for_each_concurrent(CONCURRENCY, async |object| {
            // A watch that the API server broke off begins again by itself.
            let Ok(object) = object else { return };
            let generation = object.metadata.generation;
            if object.data["status"]["observedGeneration"].as_i64() != generation {
                let (made, changes) = {
                    let (generations, changes) =
                        &mut *seen.lock().expect("no thread panics with it");
                    let generation = generation.unwrap_or(1);
                    let before = generations.insert(key(&object), generation).unwrap_or(1);
                    *changes += usize::try_from(generation - before).unwrap_or_default();
                    (generations.len(), *changes)
                };
                count.set(made);
                changed.set(changes);
                make_ready(&client, &object).await;
            }
        })
        .await;
}

/// Tries until the API server has taken the status: nothing else would bring the Deployment here again.
async fn make_ready(client: &Client, deployment: &DynamicObject) {
    let namespace = deployment.namespace();
    let api = api(client, namespace.as_deref(), "apps", "v1", "Deployment");
    let pods = &deployment.data["spec"]["replicas"];
    let ready = json!({"status": {
        "observedGeneration": deployment.metadata.generation, "replicas": pods,
        "updatedReplicas": pods, "readyReplicas": pods, "availableReplicas": pods,
    }});
    let name = deployment.name_any();
    let parameters = PatchParams::default();
    let patch = Patch::Merge(&ready);
    while let Err(error) = api.patch_status(&name, &parameters, &patch).await {
        // It is gone, or replaced by another one of its name, which comes here itself.
        if matches!(&error, kube::Error::Api(status) if matches!(status.code, 404 | 422)) {
            return;
        }
        tokio::time::sleep(RETRY).await;
    }
}

async fn follow_resources(api: Api<DynamicObject>, count: Counter) {
    let mut ready = HashSet::new();
    let objects = watcher(api, watcher::Config::default()).default_backoff().applied_objects();
    let mut objects = std::pin::pin!(objects);
    while let Some(object) = objects.next().await {
        let Ok(object) = object else { continue };
        if object.data["status"]["phase"] == "Ready" {
            ready.insert(key(&object));
        } else {
            ready.remove(&key(&object));
        }
        count.set(ready.len());
    }
}
