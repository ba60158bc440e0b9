//! What there is in the simulated cluster: the resource, its objects, ReplicaSets, pods and Jobs, and the time.

use std::collections::BTreeMap;

use k8s_openapi::jiff::Timestamp;
use llsd_plan::live::LiveObject;
use llsd_plan::objects::{ObjectKind, PlannedObject};
use serde_json::{Value, json};

use crate::wish::{Mood, Wish};

/// The one resource that is looked at.
pub const NAME: &str = "llama";
pub const NAMESPACE: &str = "here";
pub const OWNER: &str = "owner-uid";

/// How long one tick of the clock is, in seconds.
pub const TICK: i64 = 30;

/// An object as the API server stores it, and as the operator's cache has it.
#[derive(Clone, Debug)]
pub struct Stored {
    pub json: Value,
    pub live: LiveObject,
}

/// A ReplicaSet of the server's Deployment.
#[derive(Clone, Debug)]
pub struct ReplicaSet {
    pub hash: String,
    pub template: Value,
    pub revision: u64,
    pub pods: Vec<Pod>,
    /// Since when a pod of it is available without a break.
    pub available_since: Option<i64>,
    /// It was available for a minute at some time: it served.
    pub has_served: bool,
}

#[derive(Clone, Debug)]
pub struct Pod {
    pub created: i64,
    pub is_available: bool,
    /// The values of Secrets that it was started with.
    pub secrets: [u32; 2],
}

/// The Job of a preflight.
#[derive(Clone, Debug)]
pub struct Job {
    pub name: String,
    pub created: i64,
    pub mood: Mood,
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

/// Which object a write may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    pub uid: String,
    /// The version that was looked at, where the write depends on it.
    pub version: Option<u64>,
}

/// Writes that were decided on: creations, and changes of the object that a guard names.
#[derive(Clone, Debug, Default)]
pub struct Held {
    pub writes: Vec<(PlannedObject, Option<Guard>)>,
}

/// Everything.
#[derive(Clone, Debug)]
pub struct World {
    pub now: i64,
    pub wish: Wish,
    pub generation: i64,
    pub annotations: BTreeMap<&'static str, String>,
    pub status: Value,
    /// The values of the Secrets, the operator's key, and the image's digest: each counts up.
    pub secrets: [u32; 2],
    pub key: u32,
    pub digest: u32,
    pub objects: Vec<Stored>,
    pub replica_sets: Vec<ReplicaSet>,
    pub jobs: Vec<Job>,
    /// What an operator that stopped in the middle is about to write.
    pub stalled: Option<Held>,
    /// How many writes there were of owned objects.
    pub writes: u64,
    pub(super) progress: Progress,
    pub(super) version: u64,
}

impl World {
    /// A resource that was just created.
    pub fn new() -> Self {
        Self {
            now: 1_000_000,
            wish: Wish::default(),
            generation: 1,
            annotations: BTreeMap::new(),
            status: Value::Null,
            secrets: [1; 2],
            key: 1,
            digest: 1,
            objects: Vec::new(),
            replica_sets: Vec::new(),
            jobs: Vec::new(),
            stalled: None,
            writes: 0,
            progress: Progress::default(),
            version: 1,
        }
    }

    /// The resource as the API server has it, without its status.
    pub fn resource(&self) -> Value {
        json!({
            "apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution",
            "metadata": {
                "name": NAME, "namespace": NAMESPACE, "uid": OWNER,
                "generation": self.generation, "annotations": self.annotations,
            },
            "spec": self.wish.spec(),
        })
    }

    /// Changes the resource's spec.
    pub fn edit(&mut self, change: impl FnOnce(&mut Wish)) {
        let before = self.wish;
        change(&mut self.wish);
        if self.wish != before {
            self.generation += 1;
        }
    }

    pub fn object(&self, kind: ObjectKind) -> Option<&Stored> {
        self.objects.iter().find(|stored| stored.live.kind == kind)
    }

    pub fn deployment(&self) -> Option<&Value> {
        self.object(ObjectKind::Deployment).map(|stored| &stored.json)
    }

    /// The ReplicaSet of the template that the Deployment has.
    pub fn current_set(&self) -> Option<&ReplicaSet> {
        self.replica_sets.iter().max_by_key(|set| set.revision)
    }

    /// The template with this hash, if a ReplicaSet keeps it.
    pub fn template_of(&self, hash: &str) -> Option<Value> {
        let set = self.replica_sets.iter().find(|set| set.hash == hash)?;
        Some(set.template.clone())
    }

    /// The ReplicaSets of which a pod is available.
    pub fn serving(&self) -> impl Iterator<Item = &ReplicaSet> {
        self.replica_sets.iter().filter(|set| set.pods.iter().any(|pod| pod.is_available))
    }

    /// The Deployment in a line or two.
    pub fn described(&self) -> String {
        let Some(deployment) = self.deployment() else { return "no Deployment".to_owned() };
        let sets = self.replica_sets.iter().map(|set| {
            let available = set.pods.iter().filter(|pod| pod.is_available).count();
            let mood = crate::wish::mood(&set.template);
            format!("{} {mood:?} {available}/{}", &set.hash[..4], set.pods.len())
        });
        let sets: Vec<String> = sets.collect();
        let conditions = self.status["conditions"].as_array().into_iter().flatten();
        let told: Vec<String> = conditions
            .filter(|it| {
                ["RolledBack", "UpdatePending", "Preflight", "Stalled"]
                    .iter()
                    .any(|kind| it["type"] == *kind)
            })
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
        self.version += 1;
        self.version
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
