//! One pass over everything that a resource refers to: Secrets, ConfigMaps, its image. What comes out
//! are the facts that planning needs, complete, so that what they lack does not exist.

mod config_maps;
mod image;
mod pull_credentials;
mod secrets;

use llsd_api::v1alpha2::LlamaStackDistributionSpec;
use llsd_plan::facts::{AdoptedFacts, Facts};
use llsd_plan::image::resolve;
use llsd_plan::plan::state_of;
use llsd_plan::problem::Findings;
use llsd_plan::references::{self, References};
use serde::Deserialize;
use serde_json::Value;

pub use image::Running;
pub use pull_credentials::PullCredentials;
pub use secrets::Secrets;

use super::Context;
use super::cache::{Child, DeploymentDetail};
use super::key::Key;
use image::{Asking, Learnt};
use llsd_plan::objects::ObjectKind;

/// What was gathered for one resource.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    pub facts: Facts,
    /// The digest that the image's tag points to now, where an older one runs.
    pub newer_digest: Option<String>,
}

/// The Deployment of a resource, if it was made for the state that the resource has now.
pub fn held<'a>(resource: &Value, children: &'a [Child]) -> Option<&'a DeploymentDetail> {
    let deployment = children.iter().find_map(Child::deployment)?;
    let state = state_of(resource)?;
    (deployment.planned_for.as_deref() == Some(state.as_str())).then_some(deployment)
}

/// Everything that planning must know. A spec that cannot be read has no references, and planning
/// then says what is wrong with it.
pub async fn gather(
    context: &Context,
    key: &Key,
    resource: &Value,
    children: &[Child],
) -> Result<Gathered, kube::Error> {
    let client = &context.client;
    let spec = LlamaStackDistributionSpec::deserialize(&resource["spec"]).ok();
    let references =
        spec.as_ref().map(|spec| references::of(spec, &key.namespace)).unwrap_or_default();
    context.cache.set_used(key, config_maps::watched(&references, key));

    let operator = context.operator();
    let mut facts = Facts {
        complete: true,
        owner_uid: resource["metadata"]["uid"].as_str().map(str::to_owned),
        operator: operator.config.facts(
            Some(context.settings.operator_namespace.clone()),
            context.settings.operator_image.clone(),
        ),
        served_apis: context.served_apis(),
        adopted: AdoptedFacts {
            ingress: children
                .iter()
                .any(|child| child.kind == ObjectKind::Ingress && !child.deleting),
        },
        ..Facts::default()
    };
    let held = held(resource, children);
    if let Some(sidecar) = held.and_then(|deployment| deployment.sidecar_image.as_deref()) {
        // A new operator must not restart servers only for its own new image.
        facts.operator.image = Some(sidecar.to_owned());
    }
    let looked_at = LookedAt { resource, children, held: held.is_some() };
    let (secrets, config_maps, learnt) = futures::join!(
        context.secrets.facts(client, key, &references),
        config_maps::facts(client, key, &references, &context.bundles),
        Box::pin(learn(context, key, spec.as_ref(), &references, &looked_at, &facts)),
    );
    let secrets = secrets?;
    secrets.woken.iter().for_each(|key| context.queue.add(key));
    facts.secrets = secrets.facts;
    facts.config_maps = config_maps?;
    let (learnt, external) = learnt?;
    facts.image = learnt.facts;
    facts.external_providers = external;
    Ok(Gathered { facts, newer_digest: learnt.newer_digest })
}

/// Whether the configuration that runs was the image's own, as the status has it.
fn carried_a_base(resource: &Value) -> bool {
    let source = &resource["status"]["resolvedDistribution"]["configSource"];
    matches!(source.as_str(), Some("Labels" | "Layer"))
}

type External = std::collections::BTreeMap<String, llsd_plan::facts::ExternalProviderFacts>;

/// The resource and what is there of it.
struct LookedAt<'a> {
    resource: &'a Value,
    children: &'a [Child],
    /// Whether the Deployment was made for the state that the resource has now.
    held: bool,
}

/// What the registries say: of the server's image, and of those of external providers.
async fn learn(
    context: &Context,
    key: &Key,
    spec: Option<&LlamaStackDistributionSpec>,
    references: &References,
    LookedAt { resource, children, held }: &LookedAt<'_>,
    facts: &Facts,
) -> Result<(Learnt, External), kube::Error> {
    let mut external = External::new();
    let Some(spec) = spec else { return Ok((Learnt::default(), external)) };
    let mut ignored = Findings::default();
    let wanted = resolve(&spec.distribution, &facts.operator, &mut ignored);
    let Some(wanted) = wanted else { return Ok((Learnt::default(), external)) };
    let operator = context.operator();
    let keyring =
        context.pull_credentials.keyring(&context.client, key, references, children).await?;
    let asking = Asking {
        registry: &operator.registry,
        credentials: &context.pull_credentials,
        keyring: &keyring,
        metrics: &context.metrics,
    };
    let deployment = children.iter().find_map(Child::deployment);
    let live = deployment.and_then(|live| Running::of(live.state.image.as_deref(), &wanted));
    let running = live.as_ref().filter(|_| *held);
    let mut learnt = asking.image(&wanted, running, live.as_ref()).await;
    learnt.facts.carries_base = live.is_some() && carried_a_base(resource);
    if learnt.facts.unavailable.is_some() {
        // Whoever mends a pull secret need not wait until what was read before is old.
        context.pull_credentials.forget(&key.namespace);
    }
    for image in &references.provider_images {
        if let Some(said) = asking.external_provider(image).await {
            external.insert(image.clone(), said);
        }
    }
    Ok((learnt, external))
}
