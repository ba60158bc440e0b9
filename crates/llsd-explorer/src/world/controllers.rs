//! What the cluster itself does: it collects what belongs to a resource that is gone, makes ReplicaSets of a
//! Deployment and pods of those, and writes the numbers and conditions of the Deployment.

use std::rc::Rc;

use llsd_plan::objects::ObjectKind;
use serde_json::{Value, json};

use super::state::{Counted, NAME, Pod, Progress, ReplicaSet, Stored, TICK, World, time};
use super::template::Template;

/// How many ReplicaSets without pods are kept.
const HISTORY: usize = 5;

/// What the controllers read of a Deployment.
struct Wanted {
    template: Rc<Template>,
    pods: usize,
    /// By `Recreate`, or because nothing may come beside them.
    old_pods_go_first: bool,
    generation: i64,
    deadline: i64,
}

impl Wanted {
    fn read(stored: &Stored) -> Option<Self> {
        let spec = &stored.json["spec"];
        let pods = spec["replicas"].as_u64().unwrap_or(1);
        Some(Self {
            template: Rc::clone(stored.template.as_ref()?),
            pods: usize::try_from(pods).unwrap_or(1),
            old_pods_go_first: spec["strategy"]["type"] == "Recreate"
                || spec["strategy"]["rollingUpdate"]["maxSurge"] == 0,
            generation: stored.json["metadata"]["generation"].as_i64().unwrap_or(0),
            deadline: spec["progressDeadlineSeconds"].as_i64().unwrap_or(600),
        })
    }
}

impl World {
    /// Lets half a minute pass for everybody but the operator.
    pub fn tick(&mut self) {
        self.now += TICK;
        self.collect();
        self.run_jobs();
        let Some(wanted) = self.object(ObjectKind::Deployment).and_then(Wanted::read) else {
            return;
        };
        self.follow_template(&wanted.template);
        self.run_pods();
        self.start_and_stop_pods(&wanted);
        self.note_who_serves();
        self.write_status(&wanted);
    }

    /// The Deployment controller sees a change before the operator does.
    pub fn observe(&mut self) {
        if let Some(wanted) = self.object(ObjectKind::Deployment).and_then(Wanted::read) {
            self.write_status(&wanted);
        }
    }

    /// Deletes what belongs to a resource that is gone.
    fn collect(&mut self) {
        let owner = self.given.exists.then(|| self.given.owner());
        let is_left = |stored: &Stored| {
            let owners = stored.live.claim().map_or(&[][..], |claim| &claim.owners[..]);
            let mut owners = owners.iter().chain(&stored.live.controller);
            owners.all(|uid| Some(&**uid) == owner.as_deref())
        };
        let before = self.objects.len();
        self.objects.retain(is_left);
        if self.objects.len() == before {
            return;
        }
        self.revision += 1;
        let resource = self.given.resource;
        self.jobs.retain(|job| owner.is_some() && job.resource == resource);
        if self.object(ObjectKind::Deployment).is_none() {
            self.replica_sets.clear();
            (self.progress, self.counted) = (Progress::default(), Counted::default());
            self.autoscaled = None;
        }
    }

    /// Makes the ReplicaSet of the Deployment's template the newest one.
    fn follow_template(&mut self, template: &Rc<Template>) {
        let newest = self.current_set().map_or(0, |set| set.revision);
        if self.current_set().is_some_and(|set| set.template.hash == template.hash) {
            return;
        }
        self.progress.hash.clone_from(&template.hash);
        (self.progress.at, self.progress.completed_at) = (self.now, None);
        match self.replica_sets.iter_mut().find(|set| set.template.hash == template.hash) {
            Some(known) => known.revision = newest + 1,
            None => self.replica_sets.push(ReplicaSet {
                template: Rc::clone(template),
                revision: newest + 1,
                pods: Vec::new(),
                available_since: None,
                is_complete: false,
                has_served: false,
            }),
        }
        self.replica_sets.sort_by_key(|set| std::cmp::Reverse(set.revision));
        let mut kept = 0;
        self.replica_sets.retain(|set| {
            kept += usize::from(set.pods.is_empty());
            !set.pods.is_empty() || kept <= HISTORY + 1
        });
    }

    fn start_and_stop_pods(&mut self, wanted: &Wanted) {
        let (now, secrets, is_denied) = (self.now, self.given.secrets, self.given.trouble.quota);
        let Some((current, old)) = self.replica_sets.split_first_mut() else { return };
        if wanted.old_pods_go_first {
            for set in old.iter_mut() {
                set.pods.clear();
            }
        }
        current.pods.truncate(wanted.pods);
        while current.pods.len() < wanted.pods && !is_denied {
            let pod = Pod { created: now, is_available: false, has_image: false, secrets };
            current.pods.push(pod);
            self.progress.at = now;
        }
        let available = current.pods.iter().filter(|pod| pod.is_available).count();
        let mut may_stay = wanted.pods.saturating_sub(available);
        // Old pods that are not available go first.
        for wants_available in [true, false] {
            for set in old.iter_mut() {
                set.pods.retain(|pod| {
                    if pod.is_available != wants_available {
                        return true;
                    }
                    let stays = may_stay > 0;
                    may_stay -= usize::from(stays);
                    stays
                });
            }
        }
    }

    fn note_who_serves(&mut self) {
        let now = self.now;
        for set in &mut self.replica_sets {
            let is_available = set.pods.iter().any(|pod| pod.is_available);
            let since = set.available_since.unwrap_or(now);
            set.available_since = is_available.then_some(since);
            set.has_served |= is_available && now - since >= 60;
        }
    }

    fn write_status(&mut self, wanted: &Wanted) {
        let updated = self.current_set().map_or(0, |set| set.pods.len());
        let all = || self.replica_sets.iter().flat_map(|set| &set.pods);
        let (replicas, available) = (all().count(), all().filter(|pod| pod.is_available).count());
        let is_complete = updated == wanted.pods && replicas == updated && available >= wanted.pods;
        if is_complete && self.progress.completed_at.is_none() {
            self.progress.completed_at = Some(self.now);
        }
        if let Some(current) = self.replica_sets.first_mut() {
            current.is_complete |= is_complete;
        }
        let enough = available >= wanted.pods;
        if self.progress.available.0 != enough {
            self.progress.available = (enough, self.now);
        }
        let Progress { hash, at, completed_at, available: (_, since) } = &self.progress;
        let words = |words: &str| format!("ReplicaSet \"{NAME}-{hash}\" {words}");
        let progressing = match completed_at {
            Some(when) => {
                (true, "NewReplicaSetAvailable", words("has successfully progressed."), *when)
            }
            None if self.now - at > wanted.deadline => {
                let when = *at + wanted.deadline;
                (false, "ProgressDeadlineExceeded", words("has timed out progressing."), when)
            }
            None => (true, "ReplicaSetUpdated", words("is progressing."), *at),
        };
        let counted = Counted {
            generation: wanted.generation,
            wanted: wanted.pods,
            is_denied: self.given.trouble.quota && updated < wanted.pods,
            since: *since,
            replicas,
            updated,
            available,
            progressing,
        };
        if self.counted != counted {
            self.put_status(ObjectKind::Deployment, counted.status());
            self.counted = counted;
        }
    }
}

impl Counted {
    fn status(&self) -> Value {
        let truth = |holds: bool| if holds { "True" } else { "False" };
        let (progresses, reason, words, when) = &self.progressing;
        let mut conditions = vec![
            json!({
                "type": "Progressing", "status": truth(*progresses), "reason": reason,
                "message": words, "lastUpdateTime": time(*when), "lastTransitionTime": time(*when),
            }),
            json!({
                "type": "Available", "status": truth(self.available >= self.wanted),
                "reason": "MinimumReplicas", "message": "", "lastTransitionTime": time(self.since),
            }),
        ];
        if self.is_denied {
            conditions.push(json!({
                "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate",
                "message": "pods are forbidden: exceeded quota",
            }));
        }
        json!({
            "observedGeneration": self.generation,
            "replicas": self.replicas, "updatedReplicas": self.updated,
            "readyReplicas": self.available, "availableReplicas": self.available,
            "conditions": conditions,
        })
    }
}
