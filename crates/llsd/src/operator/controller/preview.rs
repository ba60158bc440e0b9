//! What a reconcile of a resource would do, found out without doing it: the operator's own pipeline, with a
//! writer that makes dry runs. For `llsd diff`.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use llsd_install::names::CONFIG_MAP;
use llsd_plan::facts::{Facts, Served};
use llsd_plan::objects::ca_bundle::OPENSHIFT_AI_BUNDLE;
use llsd_plan::objects::{ObjectKind, labels, names};
use llsd_plan::plan::Planning;
use llsd_plan::resource::{Key, PAUSED, Resource};
use llsd_plan::rollout;
use llsd_plan::rollout::wave::Turn;
use llsd_registry::credentials::ProviderPlugins;
use llsd_settings::TextsInUse;
use serde_json::Value;

use super::context::{Context, Error};
use super::pipeline::{self, PipelineResult, Stopped};
use super::registries::image_keys;
use super::requests::api;
use super::secrets::hash_key::HashKey;
use super::state::{Denials, Part, Scope, ServedKinds, Settings, Synced, Watched};
use super::steps::apply::carry_out;
use super::steps::gather::GatherError;
use super::steps::writer::DryRunWriter;
use super::watches::KeptConfig;
use crate::operator::api_clock::ApiServer;
use crate::operator::health::Ready;
use crate::operator::telemetry::Metrics;

pub use super::steps::writer::Change;

/// What a reconcile would come to.
#[derive(Clone, Debug)]
pub struct Preview {
    pub planning: Planning,
    pub facts: Facts,
    pub changes: Vec<Change>,
    /// What stands in the way of applying it, as the API server or the operator would say.
    pub refusals: Vec<String>,
    /// What changes wait for, or why they are not made.
    pub waiting: Vec<String>,
}

impl Preview {
    /// What runs is not known, so nothing can be said of changes.
    fn not_readable(denials: Denials<'_>) -> Self {
        Self {
            planning: Planning::Unavailable { missing: vec![], warnings: vec![] },
            facts: Facts::default(),
            changes: vec![],
            refusals: denials.into_sentences().into_iter().collect(),
            waiting: vec![],
        }
    }
}

/// Looks at a cluster as the operator there would.
pub struct Previewer {
    context: Context,
}

impl Previewer {
    pub async fn new(api: ApiServer, operator_namespace: &str) -> Result<Self, Error> {
        let client = api.client.clone();
        let served = ServedKinds::discover(&client).await;
        let served = served.map_err(|error| Error::Discovery(Box::new(error)))?;
        let key = HashKey::find(&client, operator_namespace).await;
        let context = Context::assemble(
            api,
            settings(operator_namespace),
            Arc::new(ProviderPlugins::default()),
            Metrics::new(env!("CARGO_PKG_VERSION")),
            key.unwrap_or_else(HashKey::ephemeral),
            served,
            Synced::new(Metrics::new(env!("CARGO_PKG_VERSION")), Ready::default()),
        )?;
        let kept = KeptConfig::new(&client, operator_namespace).fetch().await.unwrap_or_default();
        let config_maps: Api<ConfigMap> = Api::namespaced(client.clone(), operator_namespace);
        let texts = match config_maps.get_opt(CONFIG_MAP).await {
            Ok(Some(found)) => kept.check(&found.data.unwrap_or_default()).in_use,
            // As the operator has it where there is none: the defaults.
            _ if kept == TextsInUse::default() => kept.check(&[].into()).in_use,
            _ => kept,
        };
        context.configuration.set_texts(texts);
        // Who may not read the keys sees what becomes of the resource if its images are signed.
        if context.configuration.get().config.images.asks_for_signatures()
            && let Ok(keys) = image_keys::fetch(&client, operator_namespace).await
        {
            context.configuration.set_keys(keys);
        }
        Ok(Self { context })
    }

    /// Whether hashes of what Secrets hold can be compared with those on record, which takes the operator's key.
    pub fn knows_hashes(&self) -> bool {
        self.context.secrets.key().is_shared()
    }

    /// The resource as the API server would store it: defaulted, admitted, with its generation.
    pub async fn stored(&self, key: &Key, object: &Value) -> Result<Value, kube::Error> {
        let api = api::distributions_in(&self.context.client, &key.namespace);
        let parameters = PatchParams::apply("llsd-diff").force().dry_run();
        let answer = api.patch(&key.name, &parameters, &Patch::Apply(object)).await?;
        Ok(answer.json)
    }

    /// What would become of a resource: the pipeline of a reconcile, with dry runs in place of writes.
    pub async fn preview(&self, resource: &Resource) -> Result<Preview, kube::Error> {
        let (context, key) = (&self.context, &resource.key);
        self.fill_cache(key).await?;
        self.look_for_bundle(&key.namespace).await?;
        let denials = Denials::new(&context.rights);
        let mut writer = DryRunWriter::new(context, resource);
        let mut progress = loop {
            match pipeline::run(context, resource, &mut writer, &denials).await {
                Ok(progress) => break progress,
                // With all patience nothing is awaited but inside of it.
                Err(Stopped::Gather(GatherError::Awaiting(_))) => {}
                Err(Stopped::Gather(GatherError::NotReadable)) => {
                    return Ok(Preview::not_readable(denials));
                }
                Err(Stopped::Gather(GatherError::Api(error)) | Stopped::Prune(error)) => {
                    return Err(error);
                }
            }
        };
        let turn = std::mem::take(&mut progress.state.turn);
        let preflight = self.after_preflight(resource, &mut progress, &mut writer).await;
        let turn = waits_for_turn(resource, &turn);
        let waiting = resource.paused.then(paused).into_iter().chain(preflight).chain(turn);
        let waiting = waiting.collect();
        let PipelineResult { gathered, mut planning, carried_out, .. } = progress;
        let mut facts = gathered.facts;
        facts.planned_for = resource.state();
        if let Planning::Planned(plan) = &mut planning {
            let annotations = plan.objects.deployment.metadata.annotations.as_ref();
            facts.inputs = annotations.and_then(|all| all.get(labels::INPUTS).cloned());
        }
        let DryRunWriter { changes, mut refusals, .. } = writer;
        match (&mut planning, carried_out) {
            (Planning::Planned(plan), Some(Ok(applied))) => plan.warnings.extend(applied.warnings),
            (_, Some(Err(failure))) => {
                refusals.push(format!("{}: {}", failure.object, failure.message));
            }
            _ => {}
        }
        refusals.extend(denials.into_sentences());
        Ok(Preview { planning, facts, changes, refusals, waiting })
    }

    /// Where a change waits for its preflight, the Deployment as it becomes once that passes, and what the
    /// change waits for.
    async fn after_preflight(
        &self,
        resource: &Resource,
        progress: &mut PipelineResult,
        writer: &mut DryRunWriter<'_>,
    ) -> Option<String> {
        let (Planning::Planned(plan), Some(Ok(applied))) =
            (&progress.planning, &progress.carried_out)
        else {
            return None;
        };
        let preflight = applied.preflight.as_ref().filter(|preflight| preflight.holds())?;
        let deployment = names::deployment(&resource.key.name);
        if preflight.is_refused() {
            return Some(format!(
                "Deployment {deployment} stays as it is: the preflight of this change, Job {}, refused it",
                preflight.job
            ));
        }
        progress.state.preflight = None;
        let planned = progress.gathered.planned_objects(resource, plan);
        let image_override = plan.image.image_override();
        let mut rollout = rollout::decide(resource, planned, image_override, &progress.state);
        rollout.decisions.retain(|decision| decision.object.kind == ObjectKind::Deployment);
        writer.changes.retain(|change| change.kind != ObjectKind::Deployment.name());
        carry_out(writer, resource, &rollout).await;
        Some(format!(
            "Deployment {deployment} changes once the preflight of this change, Job {}, has passed",
            preflight.job
        ))
    }

    /// Shows the cache the owned objects of a resource, as watches would.
    async fn fill_cache(&self, key: &Key) -> Result<(), kube::Error> {
        let Context { client, cache, served, synced, .. } = &self.context;
        let ours = format!("{}={}", labels::MANAGED_BY, labels::OPERATOR);
        for kind in ObjectKind::ALL.iter().copied().filter(|kind| kind.is_watched()) {
            if kind.is_optional() && served.get(kind.api()) != Served::Yes {
                continue;
            }
            let api = api::owned_in(client, &key.namespace, kind);
            for object in api.list(&ListParams::default().labels(&ours)).await? {
                cache.put_object(kind, &object.json);
            }
            synced.expect(Watched::Owned(kind), &Part::Cluster).in_sync();
        }
        Ok(())
    }

    async fn look_for_bundle(&self, namespace: &str) -> Result<(), kube::Error> {
        let api: Api<ConfigMap> = Api::namespaced(self.context.client.clone(), namespace);
        let found = api.get_metadata_opt(OPENSHIFT_AI_BUNDLE).await?;
        self.context.bundles.set(namespace, found.is_some());
        // What a watch would show is known now.
        self.context.synced.expect(Watched::ConfigMaps, &Part::Cluster).in_sync();
        Ok(())
    }
}

fn paused() -> String {
    format!(
        "the resource is paused, and nothing is applied now; what is shown is applied once the annotation \
         {PAUSED} is removed"
    )
}

/// Only the operator knows whose turn it is; what was decided here is whether the change needs one.
fn waits_for_turn(resource: &Resource, turn: &Turn) -> Option<String> {
    let waits = match turn {
        Turn::NotNeeded | Turn::Joined(_) => false,
        Turn::Taken(_) => resource.turn_awaited().is_some(),
        Turn::Waiting(_) => true,
    };
    let deployment = names::deployment(&resource.key.name);
    waits.then(|| {
        format!(
            "Deployment {deployment} changes once it is its turn: an input that other servers share has changed, and \
             the operator changes a few servers at a time; a change of the resource's own is not delayed"
        )
    })
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
