//! Writes owned objects, and puts the answers into the cache.

use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use llsd_plan::fingerprint::{self, FIELD_MANAGER, Fingerprint};
use llsd_plan::live::{LiveObject, takeover};
use llsd_plan::objects::{ObjectKind, PlannedObject};
use llsd_plan::resource::Resource;
use llsd_plan::rollout::WriteFailure;
use serde_json::{Value, json};

use super::object_requests::ObjectRequests;
use super::{Creation, ObjectVersion, Writer};
use crate::operator::controller::context::Context;
use crate::operator::controller::requests::object::Object;
use crate::operator::controller::state::{Cache, safe_message};

/// Owns `spec.replicas` until an autoscaler takes it over.
const REPLICAS_MANAGER: &str = "llama-stack-operator-replicas";

/// Writes the objects of one resource.
pub struct ClusterWriter<'a> {
    requests: ObjectRequests<'a>,
    cache: &'a Cache,
}

impl<'a> ClusterWriter<'a> {
    pub fn new(context: &'a Context, resource: &'a Resource) -> Self {
        Self { requests: ObjectRequests::new(context, resource), cache: &context.cache }
    }

    /// Puts a value in the place of a field of the metadata that was read. An object whose kind follows rules must be
    /// as it was when they decided; of another, only its identity counts.
    async fn replace(
        &self,
        live: &LiveObject,
        metadata: &Value,
        field: &str,
        value: Value,
    ) -> Result<ObjectVersion, WriteFailure> {
        if metadata.get(field).is_none() {
            return Ok(live.version);
        }
        let is_decided_on = if live.kind.follows_rules() {
            version(metadata) == Some(live.version)
        } else {
            metadata["uid"] == *live.uid
        };
        if !is_decided_on {
            return Err(WriteFailure::is_changed(live));
        }
        let patch = json!([
            {"op": "test", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]},
            {"op": "replace", "path": format!("/metadata/{field}"), "value": value},
        ]);
        let patch = serde_json::from_value(patch).expect("a list of operations");
        let parameters =
            PatchParams { field_manager: Some(FIELD_MANAGER.into()), ..PatchParams::default() };
        let forgotten = self.cache.forgotten();
        let api = self.requests.api(live.kind);
        let answer = api.patch(&live.name, &parameters, &Patch::<()>::Json(patch)).await;
        let answer =
            answer.map_err(|error| self.requests.failure(live.kind, &live.name, &error))?;
        self.remember(live.kind, &answer, forgotten, None);
        Ok(version(&answer.json["metadata"]).unwrap_or(live.version))
    }

    async fn number_of_pods(
        &self,
        live: &LiveObject,
        number: i32,
        parameters: &PatchParams,
    ) -> Result<ObjectVersion, kube::Error> {
        let object = json!({
            "apiVersion": "apps/v1",
            "kind": ObjectKind::Deployment.name(),
            "metadata": {
                "name": live.name, "uid": live.uid, "resourceVersion": live.version.to_string(),
            },
            "spec": {"replicas": number},
        });
        let api = self.requests.api(live.kind);
        let answer = api.patch(&live.name, parameters, &Patch::Apply(&object)).await?;
        Ok(version(&answer.json["metadata"]).unwrap_or(live.version))
    }

    /// The object as it is now; the cache knows it, too.
    fn remember(
        &self,
        kind: ObjectKind,
        object: &Object,
        forgotten_before: u64,
        applied: Option<Fingerprint>,
    ) -> Option<LiveObject> {
        if kind.is_watched() {
            self.cache.put_written(kind, &object.json, forgotten_before, applied);
        }
        LiveObject::owned_by(kind, &object.json, self.requests.resource)
    }
}

fn version(metadata: &Value) -> Option<ObjectVersion> {
    metadata["resourceVersion"].as_str()?.parse().ok()
}

impl Writer for ClusterWriter<'_> {
    async fn create(&mut self, desired: &PlannedObject) -> Result<Creation, WriteFailure> {
        let forgotten = self.cache.forgotten();
        let answer = match self.requests.create(desired).await? {
            Ok(answer) => answer,
            Err(found) => return Ok(Creation::Exists(found)),
        };
        let applied = Some(fingerprint::of_desired(&desired.json));
        Ok(Creation::Made(self.remember(desired.kind, &answer, forgotten, applied)))
    }

    async fn update(
        &mut self,
        desired: &PlannedObject,
        live: &LiveObject,
    ) -> Result<Option<LiveObject>, WriteFailure> {
        let forgotten = self.cache.forgotten();
        let answer = self.requests.update(desired, live).await?;
        let applied = Some(fingerprint::of_desired(&desired.json));
        Ok(self.remember(desired.kind, &answer, forgotten, applied))
    }

    async fn take_over(&mut self, live: &LiveObject) -> Result<ObjectVersion, WriteFailure> {
        let Some(object) = self.requests.fetch(live.kind, &live.name).await? else {
            return Ok(live.version);
        };
        let metadata = &object["metadata"];
        let name = &self.requests.resource.key.name;
        let Some(fields) = takeover::taken_over(&metadata["managedFields"], name) else {
            return Ok(live.version);
        };
        self.replace(live, metadata, "managedFields", fields).await
    }

    async fn disown(
        &mut self,
        live: &LiveObject,
        owner: &str,
    ) -> Result<ObjectVersion, WriteFailure> {
        let Some(object) = self.requests.fetch(live.kind, &live.name).await? else {
            return Ok(live.version);
        };
        let metadata = &object["metadata"];
        let owners = metadata["ownerReferences"].as_array().into_iter().flatten();
        let others: Value = owners.filter(|other| other["uid"] != owner).cloned().collect();
        self.replace(live, metadata, "ownerReferences", others).await
    }

    async fn leave_pods(&mut self, live: &LiveObject, number: i32) -> ObjectVersion {
        // A conflict says that the autoscaler owns the number already, with another value; or that the Deployment
        // is another one by now, which the update then finds as well.
        let parameters = PatchParams::apply(REPLICAS_MANAGER);
        self.number_of_pods(live, number, &parameters).await.unwrap_or_else(|error| {
            let (key, error) = (&self.requests.resource.key, safe_message(&error));
            tracing::debug!(deployment = %key, error, "the number of pods is not held");
            live.version
        })
    }

    async fn wake_pods(
        &mut self,
        live: &LiveObject,
        number: i32,
    ) -> Result<ObjectVersion, WriteFailure> {
        let parameters = PatchParams::apply(REPLICAS_MANAGER).force();
        let woken = self.number_of_pods(live, number, &parameters).await;
        woken.map_err(|error| self.requests.failure(live.kind, &live.name, &error))
    }

    async fn delete(&mut self, kind: ObjectKind, name: &str, uid: &str) -> kube::Result<()> {
        let uid_is = Preconditions { uid: Some(uid.to_owned()), resource_version: None };
        let parameters = DeleteParams { preconditions: Some(uid_is), ..DeleteParams::background() };
        match self.requests.api(kind).delete(name, &parameters).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 || status.code == 409 => {}
            Err(error) => return Err(error),
        }
        self.cache.forget_object(&self.requests.resource.key, kind, name, uid);
        Ok(())
    }

    fn blocked(&mut self, failure: WriteFailure) -> Result<(), WriteFailure> {
        Err(failure)
    }
}
