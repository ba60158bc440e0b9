//! What there is in the simulated cluster: the resource, its objects, ReplicaSets, pods and Jobs, and the time.
//! A world is copied for each sequence, so what is large in it is shared.

use std::rc::Rc;

use k8s_openapi::jiff::Timestamp;
use llsd_plan::live::LiveObject;
use llsd_plan::objects::{ObjectKind, PlannedObject};
use llsd_plan::resource::Resource;
use llsd_plan::rollout::{Beforehand, WriteFailure};
use serde_json::{Value, json};

use super::given::{Ask, BackTo, Given, News};
use super::template::Template;
use crate::wish::{Mood, Volume};

/// The one resource that is looked at.
pub const NAME: &str = "llama";
pub const NAMESPACE: &str = "here";

/// How long one tick of the clock is, in seconds.
pub const TICK: i64 = 30;

/// An object as the API server stores it, and as the operator's cache has it.
#[derive(Clone, Debug)]
pub struct Stored {
    pub json: Rc<Value>,
    pub live: Rc<LiveObject>,
    /// Of a Deployment.
    pub template: Option<Rc<Template>>,
}

/// A ReplicaSet of the server's Deployment.
#[derive(Clone, Debug)]
pub struct ReplicaSet {
    pub template: Rc<Template>,
    pub revision: u64,
    pub pods: Vec<Pod>,
    /// Since when a pod of it is available without a break.
    pub available_since: Option<i64>,
    /// All pods were of it at some time.
    pub is_complete: bool,
    /// It was available for a minute at some time: it served.
    pub has_served: bool,
}

#[derive(Clone, Debug)]
pub struct Pod {
    pub created: i64,
    pub is_available: bool,
    /// Its image is on its node.
    pub has_image: bool,
    /// The values of Secrets that it was started with.
    pub secrets: [u8; 2],
}

/// The Job of a preflight.
#[derive(Clone, Debug)]
pub struct Job {
    pub name: String,
    pub created: i64,
    pub mood: Mood,
    pub image: String,
    /// Which resource of the name it belongs to.
    pub resource: u8,
    pub has_pod: bool,
    pub has_image: bool,
}

/// What the Deployment controller remembers in conditions.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// The template of which it speaks.
    pub(super) hash: String,
    /// When something last went on.
    pub(super) at: i64,
    /// When all pods of it were there; the controller never takes that back.
    pub(super) completed_at: Option<i64>,
    /// Since when enough pods are available, or not.
    pub(super) available: (bool, i64),
}

/// What the Deployment controller has written last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    pub(super) generation: i64,
    pub(super) wanted: usize,
    pub(super) replicas: usize,
    pub(super) updated: usize,
    pub(super) available: usize,
    pub(super) is_denied: bool,
    /// The condition `Progressing`: its status, its reason, the words about the template, and since when.
    pub(super) progressing: (bool, &'static str, String, i64),
    pub(super) since: i64,
}

/// Which object a write may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    pub uid: String,
    /// The version that was looked at, where the write depends on it.
    pub version: Option<u64>,
}

/// How an object that was decided on is written.
#[derive(Clone, Debug)]
pub enum How {
    Create,
    Update(Guard),
    /// It cannot be now.
    Not(WriteFailure),
}

/// A write that was decided on.
#[derive(Clone, Debug)]
pub struct Write {
    pub object: PlannedObject,
    pub how: How,
    pub beforehand: Beforehand,
}

/// An object that the operator left as it is: the plan, and the object's kind and version.
pub type Left = (u64, ObjectKind, u64);

/// What an operator that stopped in the middle is about to write.
#[derive(Clone, Debug)]
pub struct Held {
    pub resource: Rc<Resource>,
    /// What was given when it decided.
    pub given: Given,
    pub writes: Vec<Write>,
}

/// That the operator looked and had nothing to do, and how long that stays so while nothing changes.
#[derive(Clone, Debug)]
pub struct Rest {
    pub given: Given,
    pub revision: u64,
    pub until: i64,
}

/// Everything.
#[derive(Clone, Debug)]
pub struct World {
    pub now: i64,
    pub given: Given,
    pub status: Rc<Value>,
    /// Which resource of the name the status is about.
    reported: u8,
    pub objects: Vec<Stored>,
    pub replica_sets: Vec<ReplicaSet>,
    pub jobs: Vec<Job>,
    pub stalled: Option<Rc<Held>>,
    /// How many writes there were of owned objects.
    pub writes: u64,
    /// Counts everything that changes and that the operator looks at.
    pub revision: u64,
    pub rest: Option<Rest>,
    pub left: Vec<Left>,
    /// What the resource said of its volume when the operator last could act on it.
    pub volume_seen: Option<Volume>,
    /// The operator could plan nothing when it last looked.
    pub is_unplanned: bool,
    /// The number of pods that somebody else than the resource has set.
    pub autoscaled: Option<u64>,
    /// A state that a person asked for, and what else was given at that time.
    pub back_asked: Option<(Rc<Template>, Given)>,
    /// What was given when a person approved last.
    pub approved: Option<Given>,
    /// The images that nodes have.
    pub images: Vec<String>,
    pub(super) progress: Progress,
    pub(super) counted: Counted,
}

impl World {
    /// A resource that was just created.
    pub fn new() -> Self {
        Self {
            now: 1_000_000,
            given: Given::default(),
            status: Rc::default(),
            reported: 1,
            objects: Vec::new(),
            replica_sets: Vec::new(),
            jobs: Vec::new(),
            stalled: None,
            writes: 0,
            revision: 1,
            rest: None,
            left: Vec::new(),
            volume_seen: None,
            is_unplanned: false,
            autoscaled: None,
            back_asked: None,
            approved: None,
            images: Vec::new(),
            progress: Progress::default(),
            counted: Counted::default(),
        }
    }

    /// The resource as the API server has it, without its status.
    pub fn resource(&self) -> Value {
        json!({
            "apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution",
            "metadata": {
                "name": NAME, "namespace": NAMESPACE, "uid": self.given.owner(),
                "generation": self.given.generation, "annotations": self.given.annotations(),
            },
            "spec": self.given.wish.spec(),
        })
    }

    /// Notes that the operator looks: what changes from now on is news to it.
    pub fn look(&mut self) {
        let Given { resource, wish, .. } = self.given;
        let asked = |given: &Given| (given.resource, given.asked(Ask::Approve));
        let is_new = self.approved.as_ref().is_none_or(|at| asked(at) != asked(&self.given));
        if is_new && self.given.asked(Ask::Approve) > 0 {
            self.approved = Some(self.given.clone());
        }
        if self.reported != resource {
            (self.status, self.reported) = (Rc::default(), resource);
        }
        // The claim of a resource that is gone goes, whatever the next one says.
        if wish.volume == Some(Volume::Retain) && !self.has_claim_of_another() {
            self.volume_seen = wish.volume;
        }
        if wish.replicas.is_some() {
            self.autoscaled = None;
        }
        self.given.unseen = 0;
    }

    /// Whether the claim belongs to an earlier resource of the name.
    fn has_claim_of_another(&self) -> bool {
        let claim = self.object(ObjectKind::VolumeClaim).and_then(|stored| stored.live.claim());
        let owner = self.given.owner();
        claim.is_some_and(|claim| claim.owners.iter().any(|uid| **uid != *owner))
    }

    /// A person asks for the state before, if there is one that served.
    pub fn ask_back(&mut self) {
        let current = self.template().map(|template| template.hash.clone());
        let mut others = self.replica_sets.iter().filter(|set| {
            set.has_served && current.as_ref().is_some_and(|hash| *hash != set.template.hash)
        });
        let Some(template) = others.next().map(|set| Rc::clone(&set.template)) else { return };
        let number = self.given.back_to.as_ref().map_or(0, |back| back.number);
        self.given.back_to = Some(BackTo { hash: template.hash.clone(), number });
        self.given.renew(News::Back);
        self.back_asked = Some((template, self.given.clone()));
    }

    pub fn object(&self, kind: ObjectKind) -> Option<&Stored> {
        self.objects.iter().find(|stored| stored.live.kind == kind)
    }

    pub fn deployment(&self) -> Option<&Value> {
        self.object(ObjectKind::Deployment).map(|stored| &*stored.json)
    }

    /// The template that the Deployment has.
    pub fn template(&self) -> Option<&Rc<Template>> {
        self.object(ObjectKind::Deployment)?.template.as_ref()
    }

    /// The newest ReplicaSet.
    pub fn current_set(&self) -> Option<&ReplicaSet> {
        self.replica_sets.iter().max_by_key(|set| set.revision)
    }

    /// The template with this hash, if a ReplicaSet keeps it.
    pub fn template_of(&self, hash: &str) -> Option<Value> {
        let set = self.replica_sets.iter().find(|set| set.template.hash == hash)?;
        Some(set.template.json.clone())
    }

    /// The ReplicaSets of which a pod is available.
    pub fn serving(&self) -> impl Iterator<Item = &ReplicaSet> {
        self.replica_sets.iter().filter(|set| set.pods.iter().any(|pod| pod.is_available))
    }

    /// A condition in the resource's status.
    pub fn condition(&self, kind: &str) -> Option<&Value> {
        let mut conditions = self.status["conditions"].as_array().into_iter().flatten();
        conditions.find(|condition| condition["type"] == kind)
    }

    /// An annotation of the Deployment.
    pub fn record(&self, name: &str) -> Option<&str> {
        self.deployment()?["metadata"]["annotations"][name].as_str()
    }

    /// The Deployment in a line or two.
    pub fn described(&self) -> String {
        let Some(deployment) = self.deployment() else { return "no Deployment".to_owned() };
        let sets = self.replica_sets.iter().map(|set| {
            let available = set.pods.iter().filter(|pod| pod.is_available).count();
            let Template { hash, identity, .. } = &*set.template;
            format!("{} {identity} {available}/{}", &hash[..4], set.pods.len())
        });
        let sets: Vec<String> = sets.collect();
        let told = ["Ready", "RolledBack", "UpdatePending", "Preflight", "Stalled"];
        let told: Vec<String> = told
            .into_iter()
            .filter_map(|kind| self.condition(kind))
            .map(|it| format!("{} {} {}", it["type"], it["status"], it["reason"]))
            .collect();
        format!(
            "  {} | jobs {} | {} | {}",
            sets.join(", "),
            self.jobs.len(),
            deployment["metadata"]["annotations"],
            told.join(", ")
        )
    }

    pub(super) fn next_version(&mut self) -> u64 {
        self.revision += 1;
        self.revision
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

/// As Kubernetes writes times.
pub fn time(seconds: i64) -> String {
    Timestamp::from_second(seconds).map(|time| time.to_string()).unwrap_or_default()
}
