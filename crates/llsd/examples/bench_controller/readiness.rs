//! Stands in for the Deployments' controller: every Deployment is Ready as soon as it is seen. And
//! tells how far the operator is.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::{StreamExt, TryStreamExt};
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use llsd_testkit::ControlPlane;
use serde_json::json;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::CONCURRENCY;

/// How many there are by now.
pub struct Progress {
    deployments: Counter,
    resources: Counter,
    _watches: JoinSet<()>,
}

#[derive(Clone, Default)]
struct Counter(Arc<(AtomicUsize, Notify)>);

impl Counter {
    fn set(&self, count: usize) {
        self.0.0.store(count, Ordering::SeqCst);
        self.0.1.notify_waiters();
    }

    async fn reaches(&self, count: usize) {
        loop {
            let changed = self.0.1.notified();
            if self.0.0.load(Ordering::SeqCst) >= count {
                return;
            }
            changed.await;
        }
    }
}

impl Progress {
    pub async fn deployments(&self, count: usize) {
        self.deployments.reaches(count).await;
    }

    pub async fn resources(&self, count: usize) {
        self.resources.reaches(count).await;
    }
}

/// Works until what it returns is dropped.
pub fn start(cluster: &ControlPlane, namespace: &str) -> Progress {
    // A user that the audit log leaves out: the stand-in is not what is measured.
    let client = cluster.client_for("system:kubelet-stand-in", &["system:masters"]);
    let (made, told) = (Counter::default(), Counter::default());
    let mut watches = JoinSet::new();
    watches.spawn(deployments(api(&client, namespace, "apps", "v1", "Deployment"), made.clone()));
    watches.spawn(resources(
        api(&client, namespace, "llamastack.io", "v1alpha2", "LlamaStackDistribution"),
        told.clone(),
    ));
    Progress { deployments: made, resources: told, _watches: watches }
}

fn api(
    client: &Client,
    namespace: &str,
    group: &str,
    version: &str,
    kind: &str,
) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    Api::namespaced_with(client.clone(), namespace, &resource)
}

async fn deployments(api: Api<DynamicObject>, count: Counter) {
    let names = std::sync::Mutex::new(HashSet::new());
    let objects = watcher(api.clone(), watcher::Config::default()).default_backoff();
    let ended = objects
        .applied_objects()
        .try_for_each_concurrent(CONCURRENCY, async |object| {
            if object.data["status"]["observedGeneration"].is_null() {
                let name = object.name_any();
                let count_now = {
                    let mut names = names.lock().expect("nobody panics with it");
                    names.insert(name.clone());
                    names.len()
                };
                count.set(count_now);
                let pods = &object.data["spec"]["replicas"];
                let ready = json!({"status": {
                    "observedGeneration": object.metadata.generation, "replicas": pods,
                    "updatedReplicas": pods, "readyReplicas": pods, "availableReplicas": pods,
                }});
                let patched =
                    api.patch_status(&name, &PatchParams::default(), &Patch::Merge(&ready)).await;
                drop(patched);
            }
            Ok(())
        })
        .await;
    drop(ended);
}

async fn resources(api: Api<DynamicObject>, count: Counter) {
    let mut ready = HashSet::new();
    let objects = watcher(api, watcher::Config::default()).default_backoff().applied_objects();
    let mut objects = std::pin::pin!(objects);
    while let Some(Ok(object)) = objects.next().await {
        if object.data["status"]["phase"] == "Ready" {
            ready.insert(object.name_any());
            count.set(ready.len());
        }
    }
}
