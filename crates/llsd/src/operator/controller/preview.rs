//! What a reconcile of a resource would do, found out without doing it: the same gathering, planning
//! and deciding as the operator's, with dry runs in place of writes. For `llsd diff`.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::jiff::Timestamp;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client};
use llsd_plan::facts::{Facts, Served};
use llsd_plan::fingerprint::{self, FIELD_MANAGER};
use llsd_plan::live::LiveObject;
use llsd_plan::objects::ca_bundle::OPENSHIFT_AI_BUNDLE;
use llsd_plan::objects::{ObjectKind, PlannedObject, labels, names};
use llsd_plan::plan::{Plan, Planning};
use llsd_plan::resource::template_inputs::Inputs;
use llsd_plan::resource::{Key, Resource};
use llsd_plan::rollout::{
    self, Action, Beforehand, ClusterState, Decision, Return, WriteFailure, retention,
    storage_secrets,
};
use llsd_registry::credentials::ProviderPlugins;
use serde_json::Value;

use crate::operator::controller::context::{Context, Error};
use crate::operator::controller::requests::api;
use crate::operator::controller::secrets::hash_key::HashKey;
use crate::operator::controller::state::api_error::safe_message;
use crate::operator::controller::state::rights::Denials;
use crate::operator::controller::state::scope::{Part, Scope};
use crate::operator::controller::state::served::ServedKinds;
use crate::operator::controller::state::settings::Settings;
use crate::operator::controller::state::synced::Synced;
use crate::operator::controller::state::watched::Watched;
use crate::operator::controller::steps::gather::{Gathering, gather};
use crate::operator::controller::steps::history;
use crate::operator::controller::steps::prune;
use crate::operator::controller::watches::KeptConfig;
use crate::operator::health::Ready;
use crate::operator::telemetry::Metrics;
use llsd_install::names::CONFIG_MAP;

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
    pub planning: Planning,
    pub facts: Facts,
    pub changes: Vec<Change>,
    /// What stands in the way of applying it, as the API server or the operator would say.
    pub refusals: Vec<String>,
}

/// Looks at a cluster as the operator there would.
#[derive(Debug)]
pub struct Previewer {
    context: Context,
    /// Whether hashes of secrets are the operator's own.
    knows_hashes: bool,
}

impl Previewer {
    pub async fn new(client: Client, operator_namespace: &str) -> Result<Self, Error> {
        let served = ServedKinds::discover(&client).await;
        let served = served.map_err(|error| Error::Discovery(Box::new(error)))?;
        let key = HashKey::find(&client, operator_namespace).await;
        let knows_hashes = key.is_some();
        let context = Context::assemble(
            client.clone(),
            settings(operator_namespace),
            Arc::new(ProviderPlugins::default()),
            Metrics::new(env!("CARGO_PKG_VERSION")),
            key.unwrap_or_else(HashKey::ephemeral),
            served,
            Synced::new(Metrics::new(env!("CARGO_PKG_VERSION")), Ready::default()),
        )?;
        let kept = KeptConfig::new(&client, operator_namespace).fetch().await.unwrap_or_default();
        let config_maps: Api<ConfigMap> = Api::namespaced(client, operator_namespace);
        let texts = match config_maps.get_opt(CONFIG_MAP).await {
            Ok(Some(found)) => kept.check(&found.data.unwrap_or_default()).in_use,
            _ => kept,
        };
        context.configuration.set_texts(texts);
        Ok(Self { context, knows_hashes })
    }

    /// The resource as the API server would store it: defaulted, admitted, with its generation.
    pub async fn stored(&self, key: &Key, object: &Value) -> Result<Value, kube::Error> {
        let api = api::distributions_in(&self.context.client, &key.namespace);
        let parameters = PatchParams::apply("llsd-diff").force().dry_run();
        let answer = api.patch(&key.name, &parameters, &Patch::Apply(object)).await?;
        Ok(answer.json)
    }

    /// What would become of a resource: the steps of a reconcile up to applying.
    pub async fn preview(&self, resource: &Resource) -> Result<Preview, kube::Error> {
        let (context, key) = (&self.context, &resource.key);
        let live = self.live(key).await?;
        self.look_for_bundle(&key.namespace).await?;
        let denials = Denials::new(&context.rights);
        // With all patience nothing is awaited but inside of it.
        let mut gathered = loop {
            if let Gathering::Complete(gathered) =
                gather(context, resource, &live, &denials).await?
            {
                break gathered;
            }
        };
        gathered.facts.planned_for = resource.state();
        let planning = gathered.plan(resource, &live);
        let mut preview =
            Preview { planning, facts: gathered.facts, changes: vec![], refusals: vec![] };
        let Planning::Planned(plan) = &mut preview.planning else { return Ok(preview) };

        let annotations = plan.objects.deployment.metadata.annotations.as_ref();
        preview.facts.inputs = annotations.and_then(|all| all.get(labels::INPUTS).cloned());
        let mut planned = plan.objects.in_order();
        self.keep_unknown_name(key, &mut planned).await?;
        let before = self.before(key, &planned).await?;
        let mut running = running(resource, &planned, &before);
        running.back = self.back(resource, plan, &planned, &running).await?;
        self.keep_unknown_hash(&mut planned, running.deployment.as_ref());
        let image_override = plan.image.image_override();
        let mut before: Vec<_> = planned.iter().map(key_of_object).zip(before).collect();
        let rollout = rollout::decide(resource, planned, image_override, &running);
        for decision in rollout.decisions {
            let named = key_of_object(&decision.object);
            let found = before.iter().position(|(known, _)| *known == named);
            let before = found.and_then(|place| before.swap_remove(place).1);
            match self.change(resource, decision, before).await {
                Ok(change) => preview.changes.extend(change),
                Err(refusal) => preview.refusals.push(refusal),
            }
        }
        let mut referred = retention::referred(resource, plan);
        referred.extend(rollout.kept.iter().flat_map(|kept| kept.needs.iter().cloned()));
        let unplanned =
            prune::unplanned(context, resource, plan, &referred, &live, &denials).await?;
        for object in unplanned {
            let api = api::owned_in(&context.client, &key.namespace, object.kind);
            let before = api.get_opt(&object.name).await?.map(|live| live.json);
            let (kind, name) = (object.kind.name(), object.name.to_string());
            preview.changes.push(Change { kind, name, before, after: None });
        }
        plan.warnings.extend(rollout.warnings);
        preview.refusals.extend(denials.into_sentences());
        Ok(preview)
    }

    /// The return to an earlier state that is due, and the template of that.
    async fn back(
        &self,
        resource: &Resource,
        plan: &Plan,
        planned: &[PlannedObject],
        running: &ClusterState,
    ) -> Result<Option<(Return, Option<Value>)>, kube::Error> {
        let deployment = planned.iter().find(|object| object.kind == ObjectKind::Deployment);
        let live = deployment.and_then(|deployment| running.counterpart(deployment));
        let (Some(deployment), Some(live)) = (deployment, live) else { return Ok(None) };
        let image_override = plan.image.image_override();
        let back =
            rollout::returns_to(resource, deployment, image_override, plan.rollback, Some(live));
        let Some(back) = back else { return Ok(None) };
        let template = history::template(&self.context, &resource.key, &live.uid, &back.to).await?;
        Ok(Some((back, template)))
    }

    /// The planned objects as they are.
    async fn before(
        &self,
        key: &Key,
        planned: &[PlannedObject],
    ) -> Result<Vec<Option<Value>>, kube::Error> {
        let mut before = Vec::new();
        for PlannedObject { kind, name, .. } in planned {
            let api = api::owned_in(&self.context.client, &key.namespace, *kind);
            before.push(api.get_opt(name).await?.map(|live| live.json));
        }
        Ok(before)
    }

    /// What would become of one planned object; the error says what is in the way.
    async fn change(
        &self,
        resource: &Resource,
        Decision { object, action, beforehand }: Decision<'_>,
        before: Option<Value>,
    ) -> Result<Option<Change>, String> {
        let key = &resource.key;
        match action {
            Action::Leave => return Ok(None),
            Action::Refuse => return Err(format!("{object} belongs to somebody else")),
            Action::Wait => {
                return Err(format!("{object}: {}", WriteFailure::is_going(&object).message));
            }
            Action::Create | Action::Update(_) | Action::Adopt(_) | Action::Mark(_) => {}
        }
        let api = api::owned_in(&self.context.client, &key.namespace, object.kind);
        let parameters = PatchParams::apply(FIELD_MANAGER).force().dry_run();
        let answer = api.patch(&object.name, &parameters, &Patch::Apply(&object.json)).await;
        let answer = answer.map_err(|error| format!("{object}: {}", safe_message(&error)))?;
        let mut after = answer.json;
        match beforehand {
            Beforehand::Nothing => {}
            Beforehand::LeavePods(number) | Beforehand::WakePods(number) => {
                after["spec"]["replicas"] = number.into();
            }
            Beforehand::Disown => {
                // Already gone where nobody but us had put it there.
                if let Some(Value::Object(metadata)) = after.get_mut("metadata")
                    && let Some(Value::Array(owners)) = metadata.get_mut("ownerReferences")
                {
                    owners.retain(|owner| owner["uid"] != resource.owner());
                    if owners.is_empty() {
                        metadata.shift_remove("ownerReferences");
                    }
                }
            }
        }
        let (kind, name, after) = (object.kind.name(), object.name, Some(after));
        Ok(Some(Change { kind, name, before, after }))
    }

    /// The owned objects of a resource.
    async fn live(&self, key: &Key) -> Result<Vec<LiveObject>, kube::Error> {
        let ours = format!("{}={}", labels::MANAGED_BY, labels::OPERATOR);
        let mut live = Vec::new();
        for kind in ObjectKind::ALL.iter().copied().filter(|kind| kind.is_watched()) {
            if kind.is_optional() && self.context.served.get(kind.api()) != Served::Yes {
                continue;
            }
            let api = api::owned_in(&self.context.client, &key.namespace, kind);
            let listed = api.list(&ListParams::default().labels(&ours)).await?;
            let read = listed.iter().filter_map(|object| LiveObject::parse(kind, &object.json));
            live.extend(read.filter(|(owner, _)| owner == key).map(|(_, object)| object));
        }
        Ok(live)
    }

    async fn look_for_bundle(&self, namespace: &str) -> Result<(), kube::Error> {
        let api: Api<ConfigMap> = Api::namespaced(self.context.client.clone(), namespace);
        let found = api.get_metadata_opt(OPENSHIFT_AI_BUNDLE).await?;
        self.context.bundles.set(namespace, found.is_some());
        // What a watch would show is known now.
        self.context.synced.expect(Watched::ConfigMaps, &Part::Cluster).in_sync();
        Ok(())
    }

    /// Who may not read the operator's key cannot say how it would name a Secret of its own, so that
    /// has the name of the one that is in use.
    async fn keep_unknown_name(
        &self,
        key: &Key,
        planned: &mut [PlannedObject],
    ) -> Result<(), kube::Error> {
        let Some(secret) = planned.iter_mut().find(|object| object.kind == ObjectKind::Secret)
        else {
            return Ok(());
        };
        if self.knows_hashes {
            return Ok(());
        }
        let api = api::owned_in(&self.context.client, &key.namespace, ObjectKind::Deployment);
        let live = api.get_opt(&names::deployment(&key.name)).await?;
        let in_use = live.and_then(|live| storage_secrets::in_use(&key.name, &live.json));
        let Some(in_use) = in_use else { return Ok(()) };
        let unknown = std::mem::replace(&mut secret.name, in_use.clone());
        for object in planned.iter_mut() {
            rename(&mut object.json, &unknown, &in_use);
        }
        Ok(())
    }

    /// Who may not read the operator's key cannot say whether a secret changed, so its hash counts
    /// as unchanged.
    fn keep_unknown_hash(&self, planned: &mut [PlannedObject], live: Option<&Value>) {
        let deployment = planned.iter_mut().find(|object| object.kind == ObjectKind::Deployment);
        let Some(deployment) = deployment.filter(|_| !self.knows_hashes) else { return };
        for path in ["/metadata/annotations", "/spec/template/metadata/annotations"] {
            let live = live.and_then(|live| live.pointer(path));
            let annotations = deployment.json.pointer_mut(path).and_then(Value::as_object_mut);
            let Some(annotations) = annotations else { continue };
            for name in [labels::SECRET_HASH, labels::VARIABLES_HASH] {
                match live.and_then(|live| live.get(name)) {
                    Some(hash) => drop(annotations.insert(name.into(), hash.clone())),
                    None => drop(annotations.shift_remove(name)),
                }
            }
        }
        let template = fingerprint::of_template(&deployment.json["spec"]["template"]);
        let annotations = &mut deployment.json["metadata"]["annotations"];
        if let Some(now) = annotations[labels::INPUTS].as_str().map(Inputs::parse) {
            let recorded =
                live.and_then(|live| live["metadata"]["annotations"][labels::INPUTS].as_str());
            let recorded = recorded.map(Inputs::parse).unwrap_or_default();
            annotations[labels::INPUTS] = now.with_secrets_of(&recorded).text().into();
            annotations[labels::TEMPLATE_HASH] = template.to_string().into();
        }
    }
}

/// Puts one text in the place of another, wherever that stands alone.
fn rename(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) if text == from => to.clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, from, to)),
        Value::Object(fields) => fields.values_mut().for_each(|field| rename(field, from, to)),
        _ => {}
    }
}

fn key_of_object(object: &PlannedObject) -> (ObjectKind, String) {
    (object.kind, object.name.clone())
}

/// Whose the objects are that have the names of planned ones.
fn running(
    resource: &Resource,
    planned: &[PlannedObject],
    before: &[Option<Value>],
) -> ClusterState {
    let mut running = ClusterState { now: Timestamp::now().as_second(), ..ClusterState::default() };
    for (object, live) in planned.iter().zip(before) {
        let Some(live) = live else { continue };
        match LiveObject::owned_by(object.kind, live, resource) {
            Some(own) => running.objects.push(own),
            None => running.foreign.push((object.kind, object.name.clone())),
        }
        if object.kind == ObjectKind::Deployment {
            running.deployment = Some(live.clone());
        }
    }
    running
}

fn settings(operator_namespace: &str) -> Settings {
    Settings {
        scope: Scope::Cluster,
        is_operator: false,
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
        registry_patience: Duration::MAX,
        server_url: None,
        preflight_deadline: Duration::MAX,
        preflight_jobs: 0,
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
