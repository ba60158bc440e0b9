//! Clusters with the operator's install files that tests have one after the other: one that is cleared
//! costs a fraction of a new one.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

use http::Method;
use kube::Client;
use llsd_install::names;
use llsd_testkit::ControlPlane;
use serde_json::{Value, json};

use crate::access::eventually;
use crate::install::install;
use crate::namespace::name_of;
use crate::webhooks::send;

/// Those that nobody uses now.
static IDLE: Mutex<Vec<Installed>> = Mutex::new(Vec::new());

/// What the install files make, and what changes what the operator sees or may do.
const CLUSTER_WIDE: [&str; 6] = [
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
];

/// What an operator and its tests leave in its own namespace.
const LEFT_BEHIND: [&str; 4] = [
    "/apis/coordination.k8s.io/v1/namespaces/{}/leases",
    "/apis/events.k8s.io/v1/namespaces/{}/events",
    "/api/v1/namespaces/{}/configmaps",
    "/api/v1/namespaces/{}/secrets",
];

/// A cluster that a test has for itself, with a controller manager and the install files.
#[derive(Debug)]
pub struct ClusterPool {
    /// As whom the operator acts.
    pub user: String,
    installed: Option<Installed>,
}

#[derive(Debug)]
struct Installed {
    cluster: ControlPlane,
    /// How it was when it was new; nothing of one that is not used again.
    cluster_wide: Option<Vec<Value>>,
}

impl ClusterPool {
    /// One that is as good as new; `None`, said loudly, where the programs cannot be had.
    pub async fn get_or_skip() -> Option<Self> {
        let next = || idle().pop();
        while let Some(used) = next() {
            if used.cleared().await {
                return Some(Self { user: names::user(names::NAMESPACE), installed: Some(used) });
            }
        }
        let cluster = ControlPlane::builder().with_controller_manager().start_or_skip().await?;
        let user = install(&cluster).await;
        let cluster_wide = cluster_wide(&cluster.client()).await.ok();
        Some(Self { user, installed: Some(Installed { cluster, cluster_wide }) })
    }

    /// A cluster with what a test wants the operator to find; nobody else will have it.
    pub async fn from_cluster(cluster: ControlPlane) -> Self {
        let user = install(&cluster).await;
        Self { user, installed: Some(Installed { cluster, cluster_wide: None }) }
    }
}

impl Installed {
    /// Takes away what a test left; `false` where it changed more than that.
    async fn cleared(&self) -> bool {
        let client = self.cluster.client();
        if cluster_wide(&client).await.ok() != self.cluster_wide {
            return false;
        }
        let Ok(namespaces) = list(&client, "/api/v1/namespaces").await else { return false };
        for namespace in namespaces.iter().map(name_of) {
            let resources = "/apis/llamastack.io/v1alpha2/namespaces/{}/llamastackdistributions";
            delete(&client, &resources.replace("{}", namespace)).await;
            let is_kept = namespace == "default" || namespace.starts_with("kube-");
            if !is_kept && namespace != names::NAMESPACE {
                let path = format!("/api/v1/namespaces/{namespace}");
                delete(&client, &path).await;
                // There is no kubelet to end them, and the next one should not run them.
                delete(&client, &format!("{path}/pods?gracePeriodSeconds=0")).await;
            }
        }
        for path in LEFT_BEHIND {
            delete(&client, &path.replace("{}", names::NAMESPACE)).await;
        }
        eventually("no resource is left", async || {
            let left = list(&client, "/apis/llamastack.io/v1alpha2/llamastackdistributions").await;
            left.is_ok_and(|left| left.is_empty())
        })
        .await;
        self.cluster.forget().await.unwrap();
        true
    }
}

/// What the install files and tests say of the whole cluster, and of the operator's rights in its own
/// namespace, without what the API server adds as time passes.
async fn cluster_wide(client: &Client) -> kube::Result<Vec<Value>> {
    let own = ["roles", "rolebindings"].map(|plural| {
        format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{}/{plural}", names::NAMESPACE)
    });
    let mut all = Vec::new();
    for path in CLUSTER_WIDE.iter().map(ToString::to_string).chain(own) {
        for mut object in list(client, &path).await? {
            let name = object["metadata"]["name"].take();
            // The API server's own, which its controllers complete when they find the time.
            if name.as_str().is_some_and(|name| name.starts_with("system:")) {
                continue;
            }
            let labels = object["metadata"]["labels"].take();
            if labels["kubernetes.io/bootstrapping"].is_string() {
                continue;
            }
            for added in ["metadata", "status"] {
                object.as_object_mut().expect("an object").remove(added);
            }
            all.push(json!([name, labels, object]));
        }
    }
    Ok(all)
}

async fn list(client: &Client, path: &str) -> kube::Result<Vec<Value>> {
    let mut listed = send(client, Method::GET, path, "application/json", &Value::Null).await?;
    Ok(serde_json::from_value(listed["items"].take()).expect("a list"))
}

/// An object, or all of a collection; one that is gone is as good.
async fn delete(client: &Client, path: &str) {
    let _ = send(client, Method::DELETE, path, "application/json", &Value::Null).await;
}

fn idle() -> std::sync::MutexGuard<'static, Vec<Installed>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Deref for ClusterPool {
    type Target = ControlPlane;

    fn deref(&self) -> &ControlPlane {
        &self.installed.as_ref().expect("until it is dropped").cluster
    }
}

impl DerefMut for ClusterPool {
    fn deref_mut(&mut self) -> &mut ControlPlane {
        &mut self.installed.as_mut().expect("until it is dropped").cluster
    }
}

impl Drop for ClusterPool {
    fn drop(&mut self) {
        // A test that failed may have left anything.
        let used = self.installed.take().filter(|one| one.cluster_wide.is_some());
        idle().extend(used.filter(|_| !std::thread::panicking()));
    }
}
