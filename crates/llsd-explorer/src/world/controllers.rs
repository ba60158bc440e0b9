//! What the cluster itself does with a Deployment: ReplicaSets, pods, and the numbers and conditions that the
//! Deployment controller writes.

use std::hash::{DefaultHasher, Hash, Hasher};

use llsd_plan::objects::ObjectKind;
use serde_json::{Value, json};

use super::state::{NAME, Pod, Progress, ReplicaSet, TICK, World, time};
use crate::wish::{Mood, mood};

/// How many ReplicaSets without pods are kept.
const HISTORY: usize = 5;

impl World {
    /// Lets half a minute pass for everybody but the operator.
    pub fn tick(&mut self) {
        self.now += TICK;
        let Some(deployment) = self.deployment().cloned() else { return };
        self.follow_template(&deployment);
        let wanted = deployment["spec"]["replicas"].as_u64().unwrap_or(1);
        let wanted = usize::try_from(wanted).unwrap_or(1);
        let recreates = deployment["spec"]["strategy"]["type"] == "Recreate";
        self.start_and_stop_pods(wanted, recreates);
        self.note_who_serves();
        self.write_status(deployment, wanted);
    }

    /// Makes the ReplicaSet of the Deployment's template the newest one.
    fn follow_template(&mut self, deployment: &Value) {
        let template = &deployment["spec"]["template"];
        let hash = hash(template);
        let newest = self.current_set().map_or(0, |set| set.revision);
        if self.current_set().is_some_and(|set| set.hash == hash) {
            return;
        }
        self.progress = Progress { hash: hash.clone(), at: self.now, ..self.progress.clone() };
        self.progress.completed_at = None;
        match self.replica_sets.iter_mut().find(|set| set.hash == hash) {
            Some(known) => known.revision = newest + 1,
            None => self.replica_sets.push(ReplicaSet {
                hash,
                template: template.clone(),
                revision: newest + 1,
                pods: Vec::new(),
                available_since: None,
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

    fn start_and_stop_pods(&mut self, wanted: usize, recreates: bool) {
        let (now, secrets) = (self.now, self.secrets);
        for set in &mut self.replica_sets {
            let lucky = mood(&set.template) == Mood::Good;
            for pod in &mut set.pods {
                pod.is_available = lucky && pod.created < now;
            }
        }
        let Some((current, old)) = self.replica_sets.split_first_mut() else { return };
        if recreates {
            for set in old.iter_mut() {
                set.pods.clear();
            }
        }
        current.pods.truncate(wanted);
        while current.pods.len() < wanted {
            current.pods.push(Pod { created: now, is_available: false, secrets });
            self.progress.at = now;
        }
        let available = current.pods.iter().filter(|pod| pod.is_available).count();
        let mut may_stay = wanted.saturating_sub(available);
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

    fn write_status(&mut self, mut deployment: Value, wanted: usize) {
        let updated = self.current_set().map_or(0, |set| set.pods.len());
        let all = || self.replica_sets.iter().flat_map(|set| &set.pods);
        let (replicas, available) = (all().count(), all().filter(|pod| pod.is_available).count());
        let is_complete = updated == wanted && replicas == updated && available >= wanted;
        if is_complete && self.progress.completed_at.is_none() {
            self.progress.completed_at = Some(self.now);
        }
        let enough = available >= wanted;
        if self.progress.available.0 != enough {
            self.progress.available = (enough, self.now);
        }
        let Progress { hash, at, completed_at, available: (_, since) } = &self.progress;
        let name = format!("{NAME}-{hash}");
        let deadline = deployment["spec"]["progressDeadlineSeconds"].as_i64().unwrap_or(600);
        let (truth, reason, words, when) = match completed_at {
            Some(when) => ("True", "NewReplicaSetAvailable", "has successfully progressed.", *when),
            None if self.now - at > deadline => {
                ("False", "ProgressDeadlineExceeded", "has timed out progressing.", *at + deadline)
            }
            None => ("True", "ReplicaSetUpdated", "is progressing.", *at),
        };
        let status = json!({
            "observedGeneration": deployment["metadata"]["generation"],
            "replicas": replicas, "updatedReplicas": updated,
            "readyReplicas": available, "availableReplicas": available,
            "conditions": [
                {
                    "type": "Progressing", "status": truth, "reason": reason,
                    "message": format!("ReplicaSet \"{name}\" {words}"),
                    "lastUpdateTime": time(when), "lastTransitionTime": time(when),
                },
                {
                    "type": "Available", "status": if enough { "True" } else { "False" },
                    "reason": "MinimumReplicas", "message": "", "lastTransitionTime": time(*since),
                },
            ],
        });
        if deployment["status"] != status {
            deployment["status"] = status;
            self.put(ObjectKind::Deployment, deployment);
        }
    }
}

/// Stands for a template, as `pod-template-hash` does.
pub fn hash(template: &Value) -> String {
    let mut hasher = DefaultHasher::new();
    template.to_string().hash(&mut hasher);
    format!("{:010x}", hasher.finish() & 0xff_ffff_ffff)
}
