//! Gathers facts and plans. Planning is pure, and few states of the world differ for it, so plans are kept.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::Hash;
use std::rc::Rc;

use llsd_plan::facts::{Facts, ImageFacts, OperatorFacts, SecretFacts, SecretKeyFacts};
use llsd_plan::live::{DeploymentDetail, LiveObject};
use llsd_plan::objects::{ObjectKind, PlannedObject};
use llsd_plan::plan::{Plan, Planning, plan};
use llsd_plan::problems::Findings;
use llsd_plan::resource::Resource;
use llsd_plan::resource::image::resolve;
use llsd_plan::rollout::{PinnedImage, RunningServer};

use crate::wish::{DISTRIBUTION, SECRETS};
use crate::world::{Given, World};

/// So many plans are kept at a time.
const KEPT: usize = 10_000;

/// What planning made of one state of the world.
pub struct Planned {
    /// Tells plans apart.
    pub id: u64,
    pub resource: Rc<Resource>,
    pub planning: Planning,
    pub objects: Vec<PlannedObject>,
}

/// What is known of the image: its digest, and whether nobody can be asked.
type KnownImage = (Option<String>, bool);
type Inputs = (Given, KnownImage, Option<i32>);

thread_local! {
    static RESOURCES: RefCell<HashMap<Given, Rc<Resource>>> = RefCell::default();
    static PLANS: RefCell<HashMap<Inputs, Rc<Planned>>> = RefCell::default();
    static NUMBER: Cell<u64> = const { Cell::new(0) };
}

/// The resource as the operator reads it, without its status.
pub fn resource(world: &World) -> Rc<Resource> {
    let parse = || Rc::new(Resource::parse(&world.resource()));
    recall(&RESOURCES, world.given.written(), parse)
}

/// What is planned for the world as it is.
pub fn planned(world: &World, objects: &[LiveObject]) -> Rc<Planned> {
    let resource = resource(world);
    let image = image(world, &resource, objects);
    let listening = world
        .object(ObjectKind::Deployment)
        .and_then(|stored| stored.live.deployment())
        .and_then(DeploymentDetail::serving);
    let port = listening.as_ref().map(|listening| listening.port);
    let inputs = (world.given.planned_from(), image.clone(), port);
    recall(&PLANS, inputs, || {
        let facts = Facts { listening, ..facts(world, &resource, image) };
        let mut planning = plan(&resource, &facts);
        if let Planning::Planned(plan) = &mut planning {
            drop_texts(plan);
        }
        let objects = match &planning {
            Planning::Planned(plan) => plan.objects.in_order(),
            _ => Vec::new(),
        };
        let objects = objects.into_iter().filter(|object| is_of_interest(object.kind)).collect();
        let id = NUMBER.get();
        NUMBER.set(id + 1);
        Rc::new(Planned { id, resource, planning, objects })
    })
}

/// What is kept under a key; what is not, is made.
fn recall<K: Eq + Hash, V>(
    kept: &'static std::thread::LocalKey<RefCell<HashMap<K, Rc<V>>>>,
    key: K,
    make: impl FnOnce() -> Rc<V>,
) -> Rc<V> {
    if let Some(known) = kept.with_borrow(|kept| kept.get(&key).cloned()) {
        return known;
    }
    let made = make();
    kept.with_borrow_mut(|kept| {
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(key, Rc::clone(&made));
    });
    made
}

/// Drops long texts, of which there is nothing in what is looked at but hashes. The copy of the start
/// program, which belongs to no resource, has rules of its own (`rollout::shared`).
fn drop_texts(plan: &mut Plan) {
    plan.objects.start_program = None;
    if let Some(config_map) = &mut plan.objects.config_map {
        config_map.data = None;
    }
    if let Some(base) = &mut plan.base {
        base.text = String::new();
    }
    if let Some(generated) = &mut plan.generated {
        generated.text = String::new();
    }
}

/// The kinds that a rule beside "as it is planned" applies to, and what leads to the pods.
fn is_of_interest(kind: ObjectKind) -> bool {
    matches!(
        kind,
        ObjectKind::VolumeClaim
            | ObjectKind::Deployment
            | ObjectKind::Service
            | ObjectKind::NetworkPolicy
            | ObjectKind::Ingress
    )
}

/// What is known of the Secrets that a server may read.
pub fn secrets(world: &World) -> Facts {
    let secret = |(name, value): (&str, u8)| {
        let hash = format!("{}-{name}-{value}", world.given.key);
        let facts = SecretKeyFacts { hash, ..SecretKeyFacts::default() };
        (
            name.to_owned(),
            SecretFacts { keys: [("token".to_owned(), facts)].into(), ..<_>::default() },
        )
    };
    let secrets = SECRETS.into_iter().zip(world.given.secrets).map(secret).collect();
    Facts { secrets, ..Facts::default() }
}

/// What is known where nobody has to be asked for an image.
pub fn facts_without_image(world: &World, resource: &Resource) -> Facts {
    facts(world, resource, (None, true))
}

fn facts(world: &World, resource: &Resource, (digest, is_away): KnownImage) -> Facts {
    let operator = operator(&world.given);
    let mut image = ImageFacts { digest, inspected: !is_away, ..ImageFacts::default() };
    image.unavailable = is_away.then(|| "the registry does not answer".to_owned());
    if !operator.related_images.is_empty() && !is_away {
        // An image of another name has the same server in it.
        let table = OperatorFacts::default();
        let named = resource.spec.as_ref().map(|spec| &spec.distribution);
        let known = named.and_then(|named| resolve(named, &table, &mut Findings::default()));
        image.base = known.and_then(|known| known.embedded_base(&ImageFacts::default()));
        let listed = table.releases.distributions.get(DISTRIBUTION);
        image.release = listed.map(|listed| listed.release.clone());
    }
    Facts {
        complete: true,
        hash_key: Some(world.given.key.to_string()),
        image,
        operator,
        owner_uid: Some(world.given.owner()),
        ..secrets(world)
    }
}

/// The name of the image that this version of the operator runs, where that is not the table's.
pub fn image_of_operator(version: u8) -> Option<String> {
    (version > 0).then(|| format!("mirror.example.com/{DISTRIBUTION}:{version}"))
}

/// What the operator knows of itself: each version of it has another image in its table.
fn operator(given: &Given) -> OperatorFacts {
    let image = image_of_operator(given.operator);
    let related_images = image.map(|image| (DISTRIBUTION.to_owned(), image));
    OperatorFacts { related_images: related_images.into_iter().collect(), ..<_>::default() }
}

/// The digest of the image: the one that runs while nothing asks for another, or nobody can be asked.
fn image(world: &World, resource: &Resource, objects: &[LiveObject]) -> KnownImage {
    let now = format!("sha256:{:064x}", world.given.digest);
    let running = RunningServer::find(resource, objects);
    let spec = resource.spec.as_ref();
    let wanted = spec.and_then(|spec| {
        resolve(&spec.distribution, &operator(&world.given), &mut Findings::default())
    });
    let pinned = match wanted.and_then(|wanted| running.running(&wanted)) {
        Some(PinnedImage::Digest(digest)) => Some(digest),
        Some(PinnedImage::Unpinned) | None => None,
    };
    match (pinned, world.given.trouble.registry_away) {
        (Some(digest), _) if running.keeps_image() => (Some(digest), false),
        (Some(digest), true) => (Some(digest), running.asks_again()),
        (None, true) => (None, true),
        (_, false) => (Some(now), false),
    }
}
