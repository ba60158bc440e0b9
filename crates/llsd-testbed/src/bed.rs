//! A cluster with the operator at work in it, as a process of its own, under exactly the roles that
//! are installed with it.

use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use llsd::manifests::names;
use llsd_testkit::{ControlPlane, Kubelet, Mark, PodFate, Program};
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::install::install;

/// How long anything that the operator should do may take here; a shared machine is slow.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// The operator as a process.
#[derive(Debug)]
pub struct Operator {
    program: Program,
}

impl Operator {
    /// Starts it as `user`, with more arguments.
    pub fn start(cluster: &ControlPlane, user: &str, namespace: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_llsd"));
        command
            .arg("run")
            .args(["--operator-namespace", namespace, "--log-level", "debug"])
            .args(["--metrics-bind-address", "127.0.0.1:0"])
            .args(["--health-probe-bind-address", "127.0.0.1:0"])
            .args(arguments)
            .env("KUBECONFIG", cluster.kubeconfig_for(user, &[]))
            .env_remove("WATCH_NAMESPACE")
            .env_remove("OPERATOR_NAMESPACE");
        let program = cluster.run_program("operator", &mut command).unwrap();
        Self { program }
    }

    pub fn log(&self) -> String {
        self.program.log()
    }

    pub fn id(&self) -> u32 {
        self.program.id()
    }

    pub fn kill(&mut self) {
        self.program.kill();
    }

    pub fn stop(&mut self) -> ExitStatus {
        self.program.stop(Duration::from_secs(30)).unwrap()
    }
}

/// A control plane, pods that become ready, and the operator.
#[derive(Debug)]
pub struct Bed {
    pub operator: Operator,
    pub kubelet: Kubelet,
    pub user: String,
    pub cluster: ControlPlane,
}

impl Bed {
    /// One of its own, with more arguments for the operator.
    pub async fn start(test: &str, arguments: &[&str]) -> Option<Self> {
        let builder = ControlPlane::builder().with_controller_manager();
        let cluster = builder.start_or_skip(test).await?;
        Some(Self::within(cluster, arguments).await)
    }

    /// The same in a cluster that is there, with a controller manager and what the operator should
    /// find when it starts.
    pub async fn within(cluster: ControlPlane, arguments: &[&str]) -> Self {
        let user = install(&cluster).await;
        let kubelet = cluster.kubelet(|_| PodFate::Ready).await.unwrap();
        let operator = Operator::start(&cluster, &user, names::NAMESPACE, arguments);
        Self { operator, kubelet, user, cluster }
    }

    /// The one that the tests of a program share.
    pub async fn shared(test: &str) -> Option<&'static Self> {
        static SHARED: OnceCell<Option<Bed>> = OnceCell::const_new();
        SHARED.get_or_init(async || Self::start(test, &[]).await).await.as_ref()
    }

    /// A new namespace.
    pub async fn namespace(&self, prefix: &str) -> Namespace<'_> {
        let name = self.cluster.namespace(prefix).await.unwrap();
        Namespace { cluster: &self.cluster, name }
    }

    /// Ends the operator as a crash would, and starts it again.
    pub fn restart(&mut self, arguments: &[&str]) {
        self.operator.kill();
        self.operator = Operator::start(&self.cluster, &self.user, names::NAMESPACE, arguments);
    }
}

/// One namespace, in which a test works as an administrator.
#[derive(Clone, Debug)]
pub struct Namespace<'a> {
    pub cluster: &'a ControlPlane,
    pub name: String,
}

impl Namespace<'_> {
    pub fn api(&self, kind: &str) -> Api<DynamicObject> {
        let (group, version, plural) = match kind {
            "LlamaStackDistribution" => ("llamastack.io", "v1alpha2", "llamastackdistributions"),
            "Deployment" => ("apps", "v1", "deployments"),
            "ReplicaSet" => ("apps", "v1", "replicasets"),
            "NetworkPolicy" => ("networking.k8s.io", "v1", "networkpolicies"),
            "Ingress" => ("networking.k8s.io", "v1", "ingresses"),
            "HorizontalPodAutoscaler" => ("autoscaling", "v2", "horizontalpodautoscalers"),
            "PodDisruptionBudget" => ("policy", "v1", "poddisruptionbudgets"),
            "Event" => ("events.k8s.io", "v1", "events"),
            "Lease" => ("coordination.k8s.io", "v1", "leases"),
            "Route" => ("route.openshift.io", "v1", "routes"),
            "HTTPRoute" => ("gateway.networking.k8s.io", "v1", "httproutes"),
            "PersistentVolumeClaim" => ("", "v1", "persistentvolumeclaims"),
            "ServiceAccount" => ("", "v1", "serviceaccounts"),
            "ConfigMap" => ("", "v1", "configmaps"),
            "Service" => ("", "v1", "services"),
            "Secret" => ("", "v1", "secrets"),
            "Pod" => ("", "v1", "pods"),
            other => panic!("a test asks for {other}"),
        };
        let kind = GroupVersionKind::gvk(group, version, kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, plural);
        Api::namespaced_with(self.cluster.client(), &self.name, &resource)
    }

    /// Applies objects from YAML as kubectl does.
    pub async fn apply(&self, yaml: &str) {
        let args = ["apply", "--server-side", "--force-conflicts", "-n", &self.name, "-f", "-"];
        self.cluster.kubectl(&args, Some(yaml)).await.unwrap().expect_success();
    }

    /// Applies a file of the repository.
    pub async fn apply_file(&self, path: &str) {
        let path = crate::cluster::repository(path);
        self.apply(&std::fs::read_to_string(Path::new(&path)).unwrap()).await;
    }

    /// Makes a resource with this spec.
    pub async fn distribution(&self, name: &str, spec: Value) {
        let object = json!({
            "apiVersion": "llamastack.io/v1alpha2",
            "kind": "LlamaStackDistribution",
            "metadata": {"name": name},
            "spec": spec,
        });
        self.apply(&object.to_string()).await;
    }

    pub async fn get(&self, kind: &str, name: &str) -> Option<Value> {
        let found = self.api(kind).get_opt(name).await.unwrap();
        found.map(|object| serde_json::to_value(object).unwrap())
    }

    pub async fn list(&self, kind: &str) -> Vec<Value> {
        let listed = self.api(kind).list(&ListParams::default()).await.unwrap();
        listed.items.into_iter().map(|object| serde_json::to_value(object).unwrap()).collect()
    }

    /// A merge patch, as `kubectl patch` or `kubectl edit` sends it.
    pub async fn patch(&self, kind: &str, name: &str, patch: &Value) {
        let parameters =
            PatchParams { field_manager: Some("a-person".into()), ..Default::default() };
        self.api(kind).patch(name, &parameters, &Patch::Merge(patch)).await.unwrap();
    }

    pub async fn delete(&self, kind: &str, name: &str) {
        self.api(kind).delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// Waits until an object is as it should be, and says what it was instead.
    pub async fn until(
        &self,
        kind: &str,
        name: &str,
        what: &str,
        holds: impl Fn(&Value) -> bool,
    ) -> Value {
        let begun = Instant::now();
        let mut last = None;
        while begun.elapsed() < PATIENCE {
            last = self.get(kind, name).await;
            if let Some(object) = &last
                && holds(object)
            {
                return last.unwrap_or_default();
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let last = last.map(|object| serde_json::to_string_pretty(&object).unwrap());
        panic!("{kind} {}/{name}: {what}, not within {PATIENCE:?}: {last:#?}", self.name);
    }

    pub async fn until_gone(&self, kind: &str, name: &str) {
        let begun = Instant::now();
        while self.get(kind, name).await.is_some() {
            assert!(begun.elapsed() < PATIENCE, "{kind} {}/{name} is still there", self.name);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until `user` has nothing left to write here: events follow the status that a test may
    /// have waited for.
    pub async fn quiet(&self, user: &str) -> Mark {
        let begun = Instant::now();
        let audit = self.cluster.audit();
        loop {
            let mark = audit.mark().await.unwrap();
            tokio::time::sleep(Duration::from_secs(1)).await;
            let writes = audit.requests_of(user).await.unwrap().since(mark).writes();
            let writes = writes.only(|request| request.namespace == self.name);
            if writes.is_empty() {
                return mark;
            }
            let last = writes.by_verb_and_resource();
            assert!(begun.elapsed() < PATIENCE, "{}: never quiet: {last:?}", self.name);
        }
    }

    /// Waits until a resource is Ready for what it asks for now.
    pub async fn until_ready(&self, name: &str) -> Value {
        self.until("LlamaStackDistribution", name, "is Ready", |object| {
            condition(object, "Ready")["status"] == "True"
                && object["status"]["observedGeneration"] == object["metadata"]["generation"]
        })
        .await
    }

    /// Waits until a condition of a resource has this status and reason; gives the whole resource.
    pub async fn until_condition(
        &self,
        name: &str,
        kind: &str,
        status: &str,
        reason: &str,
    ) -> Value {
        let what = format!("{kind} is {status} for {reason}");
        self.until("LlamaStackDistribution", name, &what, |object| {
            let condition = condition(object, kind);
            condition["status"] == status
                && condition["reason"] == reason
                && condition["observedGeneration"] == object["metadata"]["generation"]
        })
        .await
    }
}

/// A condition of a resource; null where it has none of that type.
pub fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let mut conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.find(|condition| condition["type"] == kind).unwrap_or(&Value::Null)
}
