//! One namespace of a cluster: a test makes, changes and reads objects in it, and waits for them.

use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use kube::api::{Api, DeleteParams, DynamicObject, GetParams, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind, Request};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::watch_object;
use llsd_cases::files::repository;
use llsd_plan::objects::ObjectKind;
use llsd_testkit::{ControlPlane, Mark};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::access::pause;

/// How long anything that the operator should do may take here; a shared machine is slow.
pub const PATIENCE: Duration = Duration::from_mins(2);

pub const DISTRIBUTION: &str = "LlamaStackDistribution";

/// One namespace, in which a test works as an administrator.
#[derive(Clone, Debug)]
pub struct Namespace<'a> {
    pub cluster: &'a ControlPlane,
    pub name: String,
}

impl Namespace<'_> {
    pub fn api(&self, kind: &str) -> Api<DynamicObject> {
        let owned = ObjectKind::ALL.iter().find(|owned| owned.name() == kind);
        let (group, version, plural) = match (owned, kind) {
            (Some(owned), _) => (owned.group(), owned.version(), owned.plural()),
            (None, DISTRIBUTION) => ("llamastack.io", "v1alpha2", "llamastackdistributions"),
            (None, "ReplicaSet") => ("apps", "v1", "replicasets"),
            (None, "ResourceQuota") => ("", "v1", "resourcequotas"),
            (None, "Event") => ("events.k8s.io", "v1", "events"),
            (None, "Lease") => ("coordination.k8s.io", "v1", "leases"),
            (None, "Pod") => ("", "v1", "pods"),
            (None, other) => panic!("a test asks for {other}"),
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
        self.apply(&std::fs::read_to_string(repository(path)).unwrap()).await;
    }

    /// Makes a resource with this spec.
    pub async fn distribution(&self, name: &str, spec: Value) {
        let object = json!({
            "apiVersion": "llamastack.io/v1alpha2",
            "kind": "LlamaStackDistribution",
            "metadata": {"name": name},
            "spec": spec,
        });
        self.apply_object(DISTRIBUTION, &object).await;
    }

    /// Applies one object with the request that kubectl would send, without its many questions
    /// before it.
    async fn apply_object(&self, kind: &str, object: &Value) {
        let parameters = PatchParams::apply("kubectl").force().validation_strict();
        let name = name_of(object);
        let applied = self.api(kind).patch(name, &parameters, &Patch::Apply(object)).await;
        applied.unwrap_or_else(|why| panic!("{kind} {}/{name}: {why}", self.name));
    }

    pub async fn get(&self, kind: &str, name: &str) -> Option<Value> {
        let api = self.api(kind);
        let request = Request::new(api.resource_url()).get(name, &GetParams::default()).unwrap();
        match api.into_client().request(request).await {
            Ok(object) => Some(object),
            Err(kube::Error::Api(status)) if status.is_not_found() => None,
            Err(why) => panic!("{kind} {}/{name}: {why}", self.name),
        }
    }

    /// An object by its name, or where that ends with a hyphen by what its name begins with: the
    /// newest, since one that is named by its content follows another.
    pub async fn find(&self, kind: &str, name: &str) -> Option<Value> {
        if !name.ends_with('-') {
            return self.get(kind, name).await;
        }
        let listed = self.list(kind).await.into_iter();
        let begun = listed.filter(|object| name_of(object).starts_with(name));
        begun.max_by_key(|object| object["metadata"]["creationTimestamp"].to_string())
    }

    pub async fn list(&self, kind: &str) -> Vec<Value> {
        let api = self.api(kind);
        let request = Request::new(api.resource_url()).list(&ListParams::default()).unwrap();
        let mut listed: Value = api.into_client().request(request).await.unwrap();
        serde_json::from_value(listed["items"].take()).unwrap()
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
        let holds = |object: &Option<Value>| object.as_ref().is_some_and(&holds);
        self.awaited(kind, name, what, holds).await.unwrap_or_default()
    }

    pub async fn until_gone(&self, kind: &str, name: &str) {
        self.awaited(kind, name, "is gone", Option::is_none).await;
    }

    /// Watches an object until it is, or is gone, as it should be. Looking again and again would keep the
    /// API server busy, and could miss what is so for a moment.
    async fn awaited(
        &self,
        kind: &str,
        name: &str,
        what: &str,
        holds: impl Fn(&Option<Value>) -> bool,
    ) -> Option<Value> {
        let mut last = self.get(kind, name).await;
        if holds(&last) {
            return last;
        }
        let watched = async {
            let mut states = pin!(watch_object(self.api(kind), name).default_backoff());
            while let Some(state) = states.next().await {
                let Ok(state) = state else { continue };
                last = state.map(|object| json!(object));
                if holds(&last) {
                    return;
                }
            }
        };
        if timeout(PATIENCE, watched).await.is_err() {
            let last = last.map(|object| serde_json::to_string_pretty(&object).unwrap());
            panic!("{kind} {}/{name}: {what}, not within {PATIENCE:?}: {last:#?}", self.name);
        }
        last
    }

    /// Waits until `user` has nothing left to write here: events follow the status that a test may
    /// have waited for.
    pub async fn quiet(&self, user: &str) -> Mark {
        let begun = Instant::now();
        let audit = self.cluster.audit();
        loop {
            let mark = audit.mark().await.unwrap();
            sleep(Duration::from_secs(1)).await;
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

    /// Makes or changes a Secret.
    pub async fn secret(&self, name: &str, data: Value) {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data,
        });
        self.apply_object("Secret", &secret).await;
    }

    /// Makes or changes a ConfigMap.
    pub async fn config_map(&self, name: &str, data: Value) {
        let config_map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data,
        });
        self.apply_object("ConfigMap", &config_map).await;
    }

    /// What kubectl says of a resource that must be refused.
    pub async fn refusal(&self, spec: &Value) -> String {
        let object = json!({
            "apiVersion": "llamastack.io/v1alpha2", "kind": DISTRIBUTION,
            "metadata": {"name": "refused"}, "spec": spec,
        });
        let args = ["apply", "-n", &self.name, "-f", "-"];
        let answer = self.cluster.kubectl(&args, Some(&object.to_string())).await.unwrap();
        assert!(!answer.success(), "it is accepted");
        answer.stderr
    }

    /// Waits for an event on a resource; gives its note.
    pub async fn until_event(&self, resource: &str, reason: &str, says: &str) -> String {
        let begun = Instant::now();
        let mut seen = Vec::new();
        while begun.elapsed() < PATIENCE {
            let events = self.list("Event").await;
            let of_resource = events.iter().filter(|event| event["regarding"]["name"] == resource);
            seen = of_resource
                .map(|event| (event["reason"].to_string(), event["note"].to_string()))
                .collect();
            let found = seen.iter().find(|(why, note)| why.contains(reason) && note.contains(says));
            if let Some((_, note)) = found {
                return note.clone();
            }
            sleep(pause(begun)).await;
        }
        panic!("no event {reason} on {resource} that says `{says}`: {seen:#?}");
    }
}

/// The name of an object.
pub fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// A condition of a resource; null where it has none of that type.
pub fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let mut conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.find(|condition| condition["type"] == kind).unwrap_or(&Value::Null)
}
