//! What a reconcile of a resource would do, found out without doing it: the same gathering, planning
//! and deciding as the operator's, with dry runs in place of writes. For `llsd diff`.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client};
use llsd_plan::facts::Facts;
use llsd_plan::fingerprint::FIELD_MANAGER;
use llsd_plan::objects::ca_bundle::OPENSHIFT_AI_BUNDLE;
use llsd_plan::objects::{PlannedObject, labels};
use llsd_plan::plan::{Outcome, plan};
use llsd_registry::credentials::ProviderPlugins;
use serde_json::Value;

use super::api;
use super::api_error::told;
use super::cache::Child;
use super::gather::{gather, held};
use super::key::Key;
use super::secret_key::SecretKey;
use super::{Context, Error, Scope, Settings, apply, prune};
use crate::manifests::names::CONFIG_MAP;
use crate::operator::telemetry::Metrics;
use llsd_plan::objects::ObjectKind;

/// One object that would change.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub kind: &'static str,
    pub name: String,
    /// As it is; none where it would be made.
    pub before: Option<Value>,
    /// As it would be; none where it would be deleted.
    pub after: Option<Value>,
}

/// What a reconcile would come to.
#[derive(Clone, Debug)]
pub struct Preview {
    pub outcome: Outcome,
    pub facts: Facts,
    pub changes: Vec<Change>,
    /// What stands in the way of applying it, as the API server or the operator would say.
    pub refusals: Vec<String>,
}

/// Looks at a cluster as the operator there would.
#[derive(Debug)]
pub struct Looking {
    context: Context,
    /// Whether hashes of secrets are the operator's own.
    knows_hashes: bool,
}

impl Looking {
    pub async fn new(client: Client, operator_namespace: &str) -> Result<Self, Error> {
        let groups = client.list_api_groups().await;
        let groups = groups.map_err(|error| Error::Discovery(Box::new(error)))?;
        let key = SecretKey::find(&client, operator_namespace).await;
        let knows_hashes = key.is_some();
        let context = Context::assemble(
            client.clone(),
            settings(operator_namespace),
            Arc::new(ProviderPlugins::default()),
            Metrics::new(env!("CARGO_PKG_VERSION")),
            key.unwrap_or_else(SecretKey::ephemeral),
            groups.groups.into_iter().map(|group| group.name).collect(),
        )?;
        let config_maps: Api<ConfigMap> = Api::namespaced(client, operator_namespace);
        if let Ok(Some(found)) = config_maps.get_opt(CONFIG_MAP).await {
            context.current.set_data(found.data.unwrap_or_default());
        }
        Ok(Self { context, knows_hashes })
    }

    /// The resource as the API server would store it: defaulted, admitted, with its generation.
    pub async fn stored(&self, key: &Key, object: &Value) -> Result<Value, kube::Error> {
        let api = api::distributions_in(&self.context.client, &key.namespace);
        let parameters = PatchParams::apply("llsd-diff").force().dry_run();
        let answer = api.patch(&key.name, &parameters, &Patch::Apply(object)).await?;
        Ok(answer.json)
    }

    /// What would become of a resource, as the API server would store it.
    pub async fn preview(&self, key: &Key, resource: &Value) -> Result<Preview, kube::Error> {
        let context = &self.context;
        let children = self.children(key).await?;
        self.look_for_bundle(&key.namespace).await?;
        let mut gathered = gather(context, key, resource, &children).await?;
        gathered.facts.planned_for = llsd_plan::plan::state_of(resource);
        let outcome = plan(resource, &gathered.facts);
        let mut preview =
            Preview { outcome, facts: gathered.facts, changes: vec![], refusals: vec![] };
        let Outcome::Planned(planned) = &preview.outcome else { return Ok(preview) };
        let owner = resource["metadata"]["uid"].as_str().unwrap_or_default();
        let mut changes = Vec::new();
        for object in planned.objects.in_order() {
            match self.change(key, resource, object, &children).await? {
                Ok(change) => changes.extend(change),
                Err(refusal) => preview.refusals.push(refusal),
            }
        }
        for child in prune::unplanned(context, key, owner, planned, &children).await? {
            let api = api::owned_in(&context.client, &key.namespace, child.kind);
            let before = api.get_opt(&child.name).await?.map(|live| live.json);
            let (kind, name) = (child.kind.name(), child.name.to_string());
            changes.push(Change { kind, name, before, after: None });
        }
        preview.changes = changes;
        Ok(preview)
    }

    /// What would become of one planned object; the inner error says what is in the way.
    async fn change(
        &self,
        key: &Key,
        resource: &Value,
        planned: PlannedObject,
        children: &[Child],
    ) -> Result<Result<Option<Change>, String>, kube::Error> {
        let PlannedObject { kind, name, json: mut object } = planned;
        let api = api::owned_in(&self.context.client, &key.namespace, kind);
        let before = api.get_opt(&name).await?.map(|live| live.json);
        let owner = resource["metadata"]["uid"].as_str().unwrap_or_default();
        let live = before.as_ref().and_then(|live| apply::ours(kind, live, key, owner));
        if before.is_some() && live.is_none() {
            return Ok(Err(format!("{} {name} belongs to somebody else", kind.name())));
        }
        if kind == ObjectKind::Deployment {
            if held(resource, children).is_some_and(|deployment| deployment.adopted) {
                object = apply::adopted_mark(&object, resource);
            }
            self.keep_unknown_hash(&mut object, before.as_ref());
        }
        if !apply::would_change(&object, live.as_ref(), owner) {
            return Ok(Ok(None));
        }
        let parameters = PatchParams::apply(FIELD_MANAGER).force().dry_run();
        Ok(match api.patch(&name, &parameters, &Patch::Apply(&object)).await {
            Ok(after) => {
                let after = Some(after.json);
                Ok(Some(Change { kind: kind.name(), name, before, after }))
            }
            Err(error) => Err(format!("{} {name}: {}", kind.name(), told(&error))),
        })
    }

    async fn children(&self, key: &Key) -> Result<Vec<Child>, kube::Error> {
        let ours = format!("{}={}", labels::MANAGED_BY, labels::OPERATOR);
        let mut children = Vec::new();
        for kind in ObjectKind::ALL.iter().copied().filter(|kind| kind.is_watched()) {
            if kind.is_optional() && !self.context.served.contains(kind.group()) {
                continue;
            }
            let api = api::owned_in(&self.context.client, &key.namespace, kind);
            let listed = api.list(&ListParams::default().labels(&ours)).await?;
            let read = listed.iter().filter_map(|object| Child::read(kind, &object.json));
            children.extend(read.filter(|(owner, _)| owner == key).map(|(_, child)| child));
        }
        Ok(children)
    }

    async fn look_for_bundle(&self, namespace: &str) -> Result<(), kube::Error> {
        let api: Api<ConfigMap> = Api::namespaced(self.context.client.clone(), namespace);
        let found = api.get_metadata_opt(OPENSHIFT_AI_BUNDLE).await?;
        self.context.bundles.set(namespace, found.is_some());
        Ok(())
    }

    /// Who may not read the operator's key cannot say whether a secret changed, so its hash counts
    /// as unchanged.
    fn keep_unknown_hash(&self, object: &mut Value, before: Option<&Value>) {
        if self.knows_hashes {
            return;
        }
        for place in ["/metadata/annotations", "/spec/template/metadata/annotations"] {
            let live = before.and_then(|live| live.pointer(place)?.get(labels::SECRET_HASH));
            let annotations = object.pointer_mut(place).and_then(Value::as_object_mut);
            let Some(annotations) = annotations else { continue };
            match live {
                Some(hash) => drop(annotations.insert(labels::SECRET_HASH.into(), hash.clone())),
                None => drop(annotations.shift_remove(labels::SECRET_HASH)),
            }
        }
    }
}

fn settings(operator_namespace: &str) -> Settings {
    Settings {
        scope: Scope::Cluster,
        operator_namespace: operator_namespace.to_owned(),
        operator_image: None,
        operator_version: env!("CARGO_PKG_VERSION").to_owned(),
        instance: "llsd-diff".to_owned(),
        concurrency: 1,
        time_limit: Duration::from_mins(2),
        resync: Duration::MAX,
        secret_refresh: Duration::MAX,
        watch_secrets: false,
        server_poll: Duration::MAX,
        server_url: None,
        grace: Duration::ZERO,
    }
}

/// A key from a resource's own metadata; a file that names no namespace means the client's.
pub fn key_of(object: &Value, default_namespace: &str) -> Key {
    let metadata = &object["metadata"];
    let namespace = metadata["namespace"].as_str().filter(|name| !name.is_empty());
    let name = metadata["name"].as_str().unwrap_or_default();
    Key::new(namespace.unwrap_or(default_namespace), name)
}
