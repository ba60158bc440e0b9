//! The requests that create and change owned objects: server-side apply under one manager, guarded so that
//! it only ever creates a new object or changes the very one that was looked at.

use std::borrow::Cow;
use std::collections::BTreeMap;

use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use llsd_plan::fingerprint::FIELD_MANAGER;
use llsd_plan::live::LiveObject;
use llsd_plan::objects::{ObjectKind, PlannedObject};
use llsd_plan::resource::Resource;
use llsd_plan::rollout::WriteFailure;
use serde_json::Value;

use crate::operator::controller::context::Context;
use crate::operator::controller::requests::api;
use crate::operator::controller::requests::object::Object;
use crate::operator::controller::state::{Rights, failure};

/// An object with more fields in its metadata, without a copy of the rest.
type Guarded<'a> = BTreeMap<&'a str, Cow<'a, Value>>;

/// Requests about the objects of one resource.
#[derive(Clone, Copy)]
pub struct ObjectRequests<'a> {
    client: &'a Client,
    rights: &'a Rights,
    pub resource: &'a Resource,
    is_dry_run: bool,
}

impl<'a> ObjectRequests<'a> {
    pub fn new(context: &'a Context, resource: &'a Resource) -> Self {
        Self { client: &context.client, rights: &context.rights, resource, is_dry_run: false }
    }

    /// The same, for requests that change nothing.
    pub fn dry_run(context: &'a Context, resource: &'a Resource) -> Self {
        Self { is_dry_run: true, ..Self::new(context, resource) }
    }

    pub fn api(&self, kind: ObjectKind) -> Api<Object> {
        api::owned_in(self.client, &self.resource.key.namespace, kind)
    }

    /// Creates the object: the answer, or the object that has its name already.
    pub async fn create(
        &self,
        desired: &PlannedObject,
    ) -> Result<Result<Object, Box<Value>>, WriteFailure> {
        let PlannedObject { kind, name, json } = desired;
        // No object has this version, so one that exists is refused as changed meanwhile; one that
        // does not exist is created. Server-side apply has no other way to say "only if new".
        match self.apply(desired, &guarded(json, &[("resourceVersion", "1")])).await {
            Ok(answer) => Ok(Ok(answer)),
            Err(kube::Error::Api(status)) if status.code == 409 => {
                match self.fetch(*kind, name).await? {
                    Some(live) => Ok(Err(Box::new(live))),
                    None => Err(self.failure(*kind, name, &kube::Error::Api(status))),
                }
            }
            Err(error) => Err(self.failure(*kind, name, &error)),
        }
    }

    /// Changes the object that was looked at, and no other that has its name by now. Pods and data follow
    /// rules, so they are changed only as they were when that was decided: a former leader that wakes up
    /// undoes nothing.
    pub async fn update(
        &self,
        desired: &PlannedObject,
        live: &LiveObject,
    ) -> Result<Object, WriteFailure> {
        let version = live.version.to_string();
        let mut guards = vec![("uid", &*live.uid)];
        if live.kind.follows_rules() && live.version > 0 {
            guards.push(("resourceVersion", &version));
        }
        let answer = self.apply(desired, &guarded(&desired.json, &guards)).await;
        answer.map_err(|error| self.failure(live.kind, &live.name, &error))
    }

    pub async fn fetch(&self, kind: ObjectKind, name: &str) -> Result<Option<Value>, WriteFailure> {
        match self.api(kind).get_opt(name).await {
            Ok(found) => Ok(found.map(|object| object.json)),
            Err(error) => Err(self.failure(kind, name, &error)),
        }
    }

    pub fn failure(&self, kind: ObjectKind, name: &str, error: &kube::Error) -> WriteFailure {
        failure(self.rights, kind, name, error)
    }

    /// Applies `object`, which is `desired` and what guards it.
    async fn apply(&self, desired: &PlannedObject, object: &Guarded<'_>) -> kube::Result<Object> {
        let mut parameters = PatchParams::apply(FIELD_MANAGER).force();
        parameters.dry_run = self.is_dry_run;
        self.api(desired.kind).patch(&desired.name, &parameters, &Patch::Apply(object)).await
    }
}

fn guarded<'a>(object: &'a Value, guards: &[(&str, &str)]) -> Guarded<'a> {
    let fields = object.as_object().into_iter().flatten();
    let fields = fields.map(|(key, value)| (key.as_str(), Cow::Borrowed(value)));
    let mut fields: Guarded<'_> = fields.collect();
    if let Some(metadata) = fields.get_mut("metadata") {
        for (field, guard) in guards {
            metadata.to_mut()[*field] = (*guard).into();
        }
    }
    fields
}
