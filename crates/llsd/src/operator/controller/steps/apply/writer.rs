//! The requests that write owned objects: server-side apply under one manager, guarded so that it
//! only ever makes a new object or changes the very one that was looked at.

use std::borrow::Cow;
use std::collections::BTreeMap;

use kube::Client;
use kube::api::{Patch, PatchParams};
use llsd_plan::fingerprint::{self, FIELD_MANAGER, Fingerprint};
use llsd_plan::live::LiveObject;
use llsd_plan::live::takeover;
use llsd_plan::objects::{ObjectKind, PlannedObject};
use llsd_plan::resource::{Key, Resource};
use llsd_plan::rollout::WriteFailure;
use serde_json::{Value, json};

use crate::operator::controller::context::Context;
use crate::operator::controller::requests::api;
use crate::operator::controller::requests::object::Object;
use crate::operator::controller::state::api_error::{failure, safe_message};
use crate::operator::controller::state::cache::Cache;
use crate::operator::controller::state::rights::Rights;

/// Owns `spec.replicas` until an autoscaler takes it over.
const REPLICAS_MANAGER: &str = "llama-stack-operator-replicas";

/// Writes objects of one resource, and puts the answers into the cache.
#[derive(Clone, Copy)]
pub struct Writer<'a> {
    client: &'a Client,
    cache: &'a Cache,
    rights: &'a Rights,
    key: &'a Key,
}

/// What became of an attempt to make an object.
#[derive(Debug)]
pub enum Creation {
    Made,
    /// There is one of that name, which the watch has not shown.
    Exists(Box<Value>),
}

/// An object with one more field in its metadata, without a copy of the rest.
type Guarded<'a> = BTreeMap<&'a str, Cow<'a, Value>>;

fn guarded<'a>(object: &'a Value, field: &str, guard: &str) -> Guarded<'a> {
    let fields = object.as_object().into_iter().flatten();
    let fields = fields.map(|(key, value)| (key.as_str(), Cow::Borrowed(value)));
    let mut fields: Guarded<'_> = fields.collect();
    if let Some(metadata) = fields.get_mut("metadata") {
        metadata.to_mut()[field] = guard.into();
    }
    fields
}

impl<'a> Writer<'a> {
    pub fn new(context: &'a Context, resource: &'a Resource) -> Self {
        Self {
            client: &context.client,
            cache: &context.cache,
            rights: &context.rights,
            key: &resource.key,
        }
    }

    /// Makes the object, unless there is one of its name.
    pub async fn create(&self, desired: &PlannedObject) -> Result<Creation, WriteFailure> {
        let PlannedObject { kind, name, json } = desired;
        // No object has this version, so one that exists is refused as changed meanwhile; one that
        // does not exist is made. Server-side apply has no other way to say "only if new".
        match self.apply(desired, &guarded(json, "resourceVersion", "1")).await {
            Ok(()) => Ok(Creation::Made),
            Err(kube::Error::Api(status)) if status.code == 409 => {
                match self.fetch(*kind, name).await? {
                    Some(live) => Ok(Creation::Exists(Box::new(live))),
                    None => Err(self.failure(*kind, name, &kube::Error::Api(status))),
                }
            }
            Err(error) => Err(self.failure(*kind, name, &error)),
        }
    }

    /// Changes the object that was looked at, and no other that has its name by now.
    pub async fn update(
        &self,
        desired: &PlannedObject,
        live: &LiveObject,
    ) -> Result<(), WriteFailure> {
        let written = self.apply(desired, &guarded(&desired.json, "uid", &live.uid)).await;
        written.map_err(|error| self.failure(live.kind, &live.name, &error))
    }

    /// Gives the fields of an earlier operator's managers to ours. What we then do not apply goes.
    pub async fn take_over(&self, live: &LiveObject) -> Result<(), WriteFailure> {
        let Some(object) = self.fetch(live.kind, &live.name).await? else { return Ok(()) };
        let metadata = &object["metadata"];
        let Some(fields) = takeover::taken_over(&metadata["managedFields"], &self.key.name) else {
            return Ok(());
        };
        self.replace(live, metadata, "managedFields", fields).await
    }

    /// Takes the owner with this uid off the object, whoever put it there.
    pub async fn disown(&self, live: &LiveObject, owner: &str) -> Result<(), WriteFailure> {
        let Some(object) = self.fetch(live.kind, &live.name).await? else { return Ok(()) };
        let metadata = &object["metadata"];
        let owners = metadata["ownerReferences"].as_array().into_iter().flatten();
        let others: Value = owners.filter(|other| other["uid"] != owner).cloned().collect();
        self.replace(live, metadata, "ownerReferences", others).await
    }

    /// Puts a value in the place of a field of the metadata that was read, unless somebody wrote to
    /// the object since.
    async fn replace(
        &self,
        live: &LiveObject,
        metadata: &Value,
        field: &str,
        value: Value,
    ) -> Result<(), WriteFailure> {
        if metadata.get(field).is_none() {
            return Ok(());
        }
        let patch = json!([
            {"op": "test", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]},
            {"op": "replace", "path": format!("/metadata/{field}"), "value": value},
        ]);
        let patch = serde_json::from_value(patch).expect("a list of operations");
        let parameters =
            PatchParams { field_manager: Some(FIELD_MANAGER.into()), ..PatchParams::default() };
        let api = api::owned_in(self.client, &self.key.namespace, live.kind);
        let forgotten = self.cache.forgotten();
        let answer = api.patch(&live.name, &parameters, &Patch::<()>::Json(patch)).await;
        match answer {
            Ok(object) => self.remember(live.kind, &object, forgotten, None),
            Err(error) => return Err(self.failure(live.kind, &live.name, &error)),
        }
        Ok(())
    }

    /// Leaves the number of pods as it is when we stop applying it: without an owner the field would
    /// go, and the API server would put 1 in its place.
    pub async fn leave_pods(&self, live: &LiveObject, number: i32) {
        // A conflict says that the autoscaler owns the number already, with another value.
        let parameters = PatchParams::apply(REPLICAS_MANAGER);
        if let Err(error) = self.number_of_pods(live, number, &parameters).await {
            tracing::debug!(deployment = %self.key, error = safe_message(&error), "the number of pods is not held");
        }
    }

    /// Sets the number of pods from which an autoscaler goes on, whoever had set it to zero.
    pub async fn wake_pods(&self, live: &LiveObject, number: i32) -> Result<(), WriteFailure> {
        let parameters = PatchParams::apply(REPLICAS_MANAGER).force();
        let woken = self.number_of_pods(live, number, &parameters).await;
        woken.map_err(|error| self.failure(live.kind, &live.name, &error))
    }

    async fn number_of_pods(
        &self,
        live: &LiveObject,
        number: i32,
        parameters: &PatchParams,
    ) -> Result<(), kube::Error> {
        let object = json!({
            "apiVersion": "apps/v1",
            "kind": ObjectKind::Deployment.name(),
            "metadata": {"name": live.name, "uid": live.uid},
            "spec": {"replicas": number},
        });
        let api = api::owned_in(self.client, &self.key.namespace, live.kind);
        api.patch(&live.name, parameters, &Patch::Apply(&object)).await.map(drop)
    }

    pub async fn fetch(&self, kind: ObjectKind, name: &str) -> Result<Option<Value>, WriteFailure> {
        let api = api::owned_in(self.client, &self.key.namespace, kind);
        match api.get_opt(name).await {
            Ok(found) => Ok(found.map(|object| object.json)),
            Err(error) => Err(self.failure(kind, name, &error)),
        }
    }

    /// Applies `object`, which is `desired` and what guards it.
    async fn apply(
        &self,
        desired: &PlannedObject,
        object: &Guarded<'_>,
    ) -> Result<(), kube::Error> {
        let api = api::owned_in(self.client, &self.key.namespace, desired.kind);
        let parameters = PatchParams::apply(FIELD_MANAGER).force();
        let forgotten = self.cache.forgotten();
        let answer = api.patch(&desired.name, &parameters, &Patch::Apply(object)).await?;
        let applied = Some(fingerprint::of_desired(&desired.json));
        self.remember(desired.kind, &answer, forgotten, applied);
        Ok(())
    }

    fn failure(&self, kind: ObjectKind, name: &str, error: &kube::Error) -> WriteFailure {
        failure(self.rights, kind, name, error)
    }

    fn remember(
        &self,
        kind: ObjectKind,
        object: &Object,
        forgotten_before: u64,
        applied: Option<Fingerprint>,
    ) {
        if kind.is_watched() {
            self.cache.put_written(kind, &object.json, forgotten_before, applied);
        }
    }
}
