//! One pass over everything that a resource refers to: Secrets, ConfigMaps, its image. What comes out
//! are the facts that planning needs, complete, so that what they lack does not exist.

mod config_maps;
mod image_lookup;

use std::collections::BTreeMap;

use llsd_plan::facts::{AdoptedFacts, ExternalProviderFacts, Facts};
use llsd_plan::image::resolve;
use llsd_plan::live::{LiveObject, start_program};
use llsd_plan::objects::{ObjectKind, names};
use llsd_plan::problem::Findings;
use llsd_plan::references::{self, References};
use llsd_plan::resource::Resource;
use llsd_plan::rollout::Held;

use super::api;
use super::context::Context;
use image_lookup::{ImageLookup, InspectedImage};

/// What was gathered for one resource.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    pub facts: Facts,
    /// The digest that the image's tag points to now, where an older one runs.
    pub newer_digest: Option<String>,
}

/// Everything that planning must know. A spec that cannot be read has no references, and planning
/// then says what is wrong with it.
pub async fn gather(
    context: &Context,
    resource: &Resource,
    live: &[LiveObject],
) -> Result<Gathered, kube::Error> {
    let (client, key) = (&context.client, &resource.key);
    let spec = resource.spec.as_ref();
    let references = spec.map(|spec| references::of(spec, &key.namespace)).unwrap_or_default();
    context.cache.set_used(key, config_maps::watched(&references, key));

    let mut facts = Facts {
        complete: true,
        owner_uid: resource.uid.clone(),
        operator: context.configuration.get().config.facts(
            Some(context.settings.operator_namespace.clone()),
            context.settings.operator_image.clone(),
        ),
        served_apis: context.served.clone(),
        adopted: AdoptedFacts {
            ingress: live.iter().any(|live| live.kind == ObjectKind::Ingress && !live.deleting),
        },
        ..Facts::default()
    };
    let held = Held::of(resource, live);
    if let Some(sidecar) = held.sidecar_image() {
        facts.operator.image = Some(sidecar.to_owned());
    }
    facts.running.generated = held.is_generated();
    if held.keeps_start_program() {
        let api = api::owned_in(client, &key.namespace, ObjectKind::Deployment);
        let deployment = api.get_opt(&names::deployment(&key.name)).await?;
        facts.running.start_program =
            deployment.and_then(|live| start_program(&live.json).map(str::to_owned));
    }
    let (secrets, config_maps, images) = futures::join!(
        context.secrets.facts(client, key, &references),
        config_maps::facts(client, key, &references, &context.bundles),
        Box::pin(images(context, resource, &references, live, &held, &facts)),
    );
    let secrets = secrets?;
    secrets.woken.iter().for_each(|key| context.queue.add(key));
    facts.secrets = secrets.facts;
    facts.config_maps = config_maps?;
    let (image, external_providers) = images?;
    facts.image = image.facts;
    facts.external_providers = external_providers;
    Ok(Gathered { facts, newer_digest: image.newer_digest })
}

type ExternalProviders = BTreeMap<String, ExternalProviderFacts>;

/// What the registries say: of the server's image, and of those of external providers.
async fn images(
    context: &Context,
    resource: &Resource,
    references: &References,
    live: &[LiveObject],
    held: &Held<'_>,
    facts: &Facts,
) -> Result<(InspectedImage, ExternalProviders), kube::Error> {
    let key = &resource.key;
    let wanted = resource
        .spec
        .as_ref()
        .and_then(|spec| resolve(&spec.distribution, &facts.operator, &mut Findings::default()));
    let Some(wanted) = wanted else { return Ok(<_>::default()) };
    let configuration = context.configuration.get();
    let keyring = context.pull_credentials.keyring(&context.client, key, references, live).await?;
    let lookup = ImageLookup {
        registry: &configuration.registry,
        credentials: &context.pull_credentials,
        keyring: &keyring,
        metrics: &context.metrics,
    };
    let running = held.running(&wanted);
    let mut image = lookup.image(&wanted, running.as_ref(), held.keeps_image()).await;
    image.facts.carries_base = running.is_some() && resource.ran_a_base_of_its_image();
    if image.facts.unavailable.is_some() {
        // Whoever fixes a pull secret need not wait until what was read before is old.
        context.pull_credentials.forget(&key.namespace);
    }
    let mut external = ExternalProviders::new();
    for image in &references.provider_images {
        if let Some(described) = lookup.external_provider(image).await {
            external.insert(image.clone(), described);
        }
    }
    Ok((image, external))
}
