//! One pass over everything that a resource refers to: Secrets, ConfigMaps, its image. What comes out
//! are the facts that planning needs, complete, so that what they lack does not exist.

mod ca_bundle_grant;
mod claims;
mod config_maps;
mod image_lookup;
mod provider_images;
mod recorded_image;

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use llsd_install::names::OWN_SECRETS;
use llsd_plan::facts::{AdoptedFacts, ExternalProviderFacts, Facts, OperatorFacts};
use llsd_plan::live::{DeploymentDetail, LiveObject};
use llsd_plan::objects::{ObjectKind, PlannedObject, names};
use llsd_plan::plan::references::{self, References};
use llsd_plan::plan::{Plan, Planning, plan_beside};
use llsd_plan::problems::{FieldPath, Findings, Problem, Reason};
use llsd_plan::resource::image::resolve;
use llsd_plan::resource::template_inputs::Inputs;
use llsd_plan::resource::{Key, Resource};
use llsd_plan::rollout::{self, RunningServer, unknown_hashes};
use llsd_plan::status::TagNow;
use llsd_registry::Wanted;
use serde_json::Value;

use crate::operator::controller::context::Context;
use crate::operator::controller::registries::asker::Asker;
use crate::operator::controller::requests::api;
use crate::operator::controller::state::Denials;
use crate::operator::controller::steps::unwatched;
use crate::operator::telemetry::traces::TARGET;
use crate::provider_image::WANTED;
use image_lookup::{Awaited, ImageLookup, InspectedImage, LATE};
use provider_images::ProviderImages;

/// So often a resource is looked at whose registry takes long; its answer wakes it anyway.
const SLOW: Duration = Duration::from_secs(30);

/// Why a resource cannot be planned now.
#[derive(Debug)]
pub enum GatherError {
    /// How the operator is configured, or what runs, is not known; `denials` say why.
    NotReadable,
    /// A registry is being asked; its answer wakes the resource.
    Awaiting(Duration),
    Api(kube::Error),
}

impl From<kube::Error> for GatherError {
    fn from(error: kube::Error) -> Self {
        Self::Api(error)
    }
}

/// What was gathered for one resource.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    pub facts: Facts,
    /// The resource's objects, as far as they are watched.
    pub objects: Vec<LiveObject>,
    /// Where the tag of the image that runs points by now.
    pub tag: TagNow,
    /// A registry said just now some of what the facts hold of images.
    pub images_are_new: bool,
    /// The live Deployment, where hashes of secrets say nothing because the operator's key is not known.
    recorded: Option<Value>,
    knows_hashes: bool,
    /// A registry takes long, which the status does not say yet; then nothing else is known.
    late: Option<Problem>,
}

impl Gathered {
    /// What planning makes of it.
    #[tracing::instrument(target = TARGET, level = "trace", skip_all)]
    pub fn plan(&mut self, resource: &Resource) -> Planning {
        match self.late.take() {
            None => plan_beside(resource, &mut self.facts, &self.objects),
            Some(late) => Planning::Unavailable { missing: vec![late], warnings: Vec::new() },
        }
    }

    /// What is now in the Secrets that the pods which run read; nothing where their hashes say nothing.
    pub fn still_read(&self) -> Inputs {
        let known = Some(&self.objects).filter(|_| self.knows_hashes);
        known.map(|objects| rollout::still_read(objects, &self.facts)).unwrap_or_default()
    }

    /// The planned objects, in the order in which they are applied.
    pub fn planned_objects(&self, resource: &Resource, plan: &Plan) -> Vec<PlannedObject> {
        let mut planned = plan.objects.in_order();
        if !self.knows_hashes {
            unknown_hashes::keep_recorded(&mut planned, &resource.key, self.recorded.as_ref());
        }
        planned
    }
}

/// Everything that planning must know. A spec that cannot be read has no references, and planning
/// then says what is wrong with it.
#[tracing::instrument(target = TARGET, level = "trace", skip_all)]
pub async fn gather(
    context: &Context,
    resource: &Resource,
    denials: &Denials<'_>,
) -> Result<Gathered, GatherError> {
    let (client, key) = (&context.client, &resource.key);
    let mut objects = context.cache.live(key);
    if !unwatched::complete(context, resource, &mut objects, denials).await? {
        return Err(GatherError::NotReadable);
    }
    let live = &objects;
    let spec = resource.spec.as_ref();
    let mut references =
        spec.map(|spec| references::references(spec, &key.namespace)).unwrap_or_default();
    // Also what the resource does not name any more, as long as pods read it.
    references.secrets.extend(rollout::keys_on_record(live));
    let mut facts = without_asking(context, resource, live);
    ca_bundle_grant::settle(context.secrets.key(), resource, live, &mut facts, &mut references);
    context.cache.set_used(key, config_maps::watched(&references, key));

    let running = RunningServer::find(resource, live);
    // Registries first: whoever has to wait for one has read nothing in vain.
    let images =
        Box::pin(images(context, resource, &references, live, &running, &facts, denials)).await?;
    let (image, providers) = match images {
        Ok(images) => images,
        Err(awaited) => return awaiting(resource, awaited, objects),
    };
    let (secrets, config_maps, claims) = futures::join!(
        context.secrets.facts(client, key, &references),
        config_maps::facts(context, key, &references, denials),
        claims::facts(client, key, &references),
    );
    let secrets = secrets?;
    secrets.forbidden().for_each(|why| denials.add(why.to_owned()));
    secrets.woken.iter().for_each(|key| context.queue.add(key));
    facts.secrets = secrets.facts;
    facts.config_maps = config_maps?;
    facts.claims = claims?;
    facts.image = image.facts;
    facts.external_providers = providers.facts;
    let tag = image.tag.beside(providers.tags);
    let images_are_new = image.is_new || providers.are_new;
    let knows_hashes = context.secrets.key().is_shared();
    let recorded = if knows_hashes { None } else { deployment(client, key).await? };
    Ok(Gathered { facts, objects, tag, images_are_new, recorded, knows_hashes, late: None })
}

/// The facts for which nobody has to be asked.
fn without_asking(context: &Context, resource: &Resource, live: &[LiveObject]) -> Facts {
    let (served_apis, unknown_apis) = context.served.facts();
    Facts {
        complete: true,
        owner_uid: resource.uid.clone(),
        operator: OperatorFacts {
            own_accounts: context.own_accounts.clone(),
            own_secrets: OWN_SECRETS.map(str::to_owned).into(),
            ..context.configuration.get().config.facts(
                Some(context.settings.operator_namespace.clone()),
                context.settings.operator_image.clone(),
            )
        },
        served_apis,
        unknown_apis,
        adopted: AdoptedFacts {
            ingress: live.iter().any(|live| live.kind == ObjectKind::Ingress && !live.deleting),
        },
        listening: live.iter().find_map(LiveObject::deployment).and_then(DeploymentDetail::serving),
        hash_key: Some(context.secrets.key().id().to_owned()),
        ..Facts::default()
    }
}

async fn deployment(client: &Client, key: &Key) -> kube::Result<Option<Value>> {
    let api = api::owned_in(client, &key.namespace, ObjectKind::Deployment);
    Ok(api.get_opt(&names::deployment(&key.name)).await?.map(|live| live.json))
}

/// What to do while a registry does not answer: nothing, but once it takes long the status says so.
fn awaiting(
    resource: &Resource,
    Awaited { field, image, since }: Awaited,
    objects: Vec<LiveObject>,
) -> Result<Gathered, GatherError> {
    let is_told = resource.generation.is_some()
        && resource.status["observedGeneration"].as_i64() == resource.generation;
    match LATE.checked_sub(since).filter(|rest| !rest.is_zero()) {
        Some(rest) => Err(GatherError::Awaiting(rest)),
        None if is_told => Err(GatherError::Awaiting(SLOW)),
        None => {
            let late = Some(Problem {
                path: FieldPath::spec().key(field),
                reason: Reason::Unavailable,
                message: format!("the registry of {image} has not answered yet"),
                remedy: "it is waited for; check the registry if this does not change".to_owned(),
            });
            Ok(Gathered { objects, late, ..Gathered::default() })
        }
    }
}

/// What is known of the server's image, and of those of external providers.
async fn images(
    context: &Context,
    resource: &Resource,
    references: &References,
    live: &[LiveObject],
    running: &RunningServer<'_>,
    facts: &Facts,
    denials: &Denials<'_>,
) -> Result<Result<(InspectedImage, ProviderImages), Awaited>, kube::Error> {
    let key = &resource.key;
    let wanted = resource
        .spec
        .as_ref()
        .and_then(|spec| resolve(&spec.distribution, &facts.operator, &mut Findings::default()));
    let Some(wanted) = wanted else { return Ok(Ok(<_>::default())) };
    let secrets =
        context.pull_credentials.secrets(&context.client, key, references, live, denials).await?;
    let asker = Asker {
        configuration: context.configuration.get(),
        credentials: Arc::clone(&context.pull_credentials),
        secrets,
        metrics: context.metrics.clone(),
        wanted: Wanted::Base,
    };
    let of_providers = Asker { wanted: WANTED, ..asker.clone() };
    let lookup = ImageLookup { context, resource, live, running, asker, field: "distribution" };
    let lookup_of_providers =
        ImageLookup { asker: of_providers, field: "externalProviders", ..lookup };
    lookup.forget_others(&wanted, &references.provider_images);
    let age = lookup.age();
    // Both are asked for before either is waited for.
    let (image, external) = futures::join!(
        lookup.image(&wanted),
        lookup_of_providers.provider_images(references.provider_images.iter(), age),
    );
    let (mut image, external) = match (image, external) {
        (Ok(image), Ok(external)) => (image, external),
        (Err(awaited), _) | (_, Err(awaited)) => return Ok(Err(awaited)),
    };
    context.lookups.settle(key);
    image.facts.carries_base |=
        running.running(&wanted).is_some() && resource.ran_a_base_of_its_image();
    let is_unread = |provider: &ExternalProviderFacts| provider.unavailable.is_some();
    if image.facts.unavailable.is_some() || external.facts.values().any(is_unread) {
        // Whoever fixes a pull secret need not wait until what was read before is old.
        context.pull_credentials.forget(&key.namespace);
    }
    Ok(Ok((image, external)))
}
