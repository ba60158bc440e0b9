//! One line for each resource: what its status says in a few words.

use jiff::Timestamp;
use llsd_plan::objects::names;
use llsd_plan::status::{ConditionReason, ConditionType};
use serde_json::{Value, json};

use super::requests::Rates;

/// What is shown of a resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Row {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) phase: String,
    /// Pods that serve, of those that there are.
    pub(super) pods: (i64, i64),
    pub(super) rollout: String,
    /// In a second; unknown where nobody counts them.
    pub(super) requests: Option<f64>,
    /// In seconds.
    pub(super) age: i64,
    /// What is wrong, or nothing.
    pub(super) problem: String,
}

impl Row {
    pub(super) fn from_resource(resource: &Value, rates: &Rates, now: Timestamp) -> Self {
        let (metadata, status) = (&resource["metadata"], &resource["status"]);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let created = metadata["creationTimestamp"].as_str().and_then(|time| time.parse().ok());
        let age = created.map_or(0, |created: Timestamp| now.as_second() - created.as_second());
        let number = |field: &str| status[field].as_i64().unwrap_or_default();
        let (namespace, name) = (text(&metadata["namespace"]), text(&metadata["name"]));
        let requests = rates.get(&(namespace.clone(), names::service(&name)));
        Self {
            namespace,
            name,
            phase: status["phase"].as_str().unwrap_or("Unknown").to_owned(),
            pods: (number("availableReplicas"), number("replicas")),
            rollout: rollout(resource).to_owned(),
            requests: requests.copied(),
            age: age.max(0),
            problem: problem(status),
        }
    }

    /// For scripts.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "namespace": self.namespace, "name": self.name, "phase": self.phase,
            "pods": {"available": self.pods.0, "all": self.pods.1},
            "rollout": self.rollout, "requestsPerSecond": self.requests, "ageSeconds": self.age, "problem": self.problem,
        })
    }

    /// As people say it, in one unit.
    pub(super) fn age(&self) -> String {
        match self.age {
            seconds @ ..120 => format!("{seconds}s"),
            seconds @ ..7200 => format!("{}m", seconds / 60),
            seconds @ ..172_800 => format!("{}h", seconds / 3600),
            seconds => format!("{}d", seconds / 86400),
        }
    }
}

/// How far the last change is; the first that holds.
fn rollout(resource: &Value) -> &'static str {
    let status = &resource["status"];
    let reason = |kind: ConditionType| condition(status, kind)?["reason"].as_str();
    let is = |kind, wanted: ConditionReason| reason(kind) == Some(wanted.as_str());
    if status["observedGeneration"] != resource["metadata"]["generation"] {
        "unseen"
    } else if condition(status, ConditionType::Paused).is_some() {
        "paused"
    } else if is(ConditionType::Preflight, ConditionReason::PreflightRunning) {
        "judged"
    } else if is(ConditionType::Preflight, ConditionReason::PreflightFailed) {
        "refused"
    } else if condition(status, ConditionType::RolledBack).is_some() {
        "rolled back"
    } else if is(ConditionType::DeploymentReady, ConditionReason::RolloutStuck) {
        "stuck"
    } else if condition(status, ConditionType::DeploymentReady).is_none() {
        "none"
    } else if is(ConditionType::DeploymentReady, ConditionReason::DeploymentReady) {
        let waits = condition(status, ConditionType::UpdatePending).is_some();
        if waits { "update waits" } else { "complete" }
    } else {
        "under way"
    }
}

/// The first condition that does not hold, in its words; nothing of one that is ready.
fn problem(status: &Value) -> String {
    let said = |condition: &Value| condition["message"].as_str().unwrap_or_default().to_owned();
    let fails = |condition: &&Value| condition["status"] == "False";
    let ready = condition(status, ConditionType::Ready).filter(fails);
    let limited = || condition(status, ConditionType::AccessLimited);
    let ill = || condition(status, ConditionType::HealthCheck).filter(fails);
    ready.or_else(limited).or_else(ill).map(said).unwrap_or_default().replace('\n', " ")
}

fn condition(status: &Value, wanted: ConditionType) -> Option<&Value> {
    let mut all = status["conditions"].as_array().into_iter().flatten();
    all.find(|condition| condition["type"] == wanted.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(phase: &str, conditions: &[[&str; 4]]) -> Value {
        let conditions: Vec<Value> = conditions
            .iter()
            .map(|[kind, status, reason, message]| {
                json!({"type": kind, "status": status, "reason": reason, "message": message})
            })
            .collect();
        json!({
            "metadata": {
                "namespace": "team", "name": "llama", "generation": 1,
                "creationTimestamp": "2026-11-17T00:00:00Z",
            },
            "status": {
                "observedGeneration": 1, "phase": phase, "replicas": 2, "availableReplicas": 1,
                "conditions": conditions,
            },
        })
    }

    fn row(resource: &Value) -> Row {
        let rates = Rates::from([(("team".into(), "llama-service".into()), 1.25)]);
        Row::from_resource(resource, &rates, "2026-11-17T03:00:00Z".parse().unwrap())
    }

    #[test]
    fn a_row_says_where_the_resource_stands() {
        let ready = row(&resource(
            "Ready",
            &[
                ["Ready", "True", "Ready", "runs"],
                ["DeploymentReady", "True", "DeploymentReady", ""],
            ],
        ));
        assert_eq!((&*ready.phase, ready.pods, &*ready.rollout), ("Ready", (1, 2), "complete"));
        assert_eq!((ready.age(), &*ready.problem), ("3h".to_owned(), ""));
        assert_eq!(ready.requests, Some(1.25));
        let refused = row(&resource(
            "Ready",
            &[
                ["Ready", "False", "PreflightFailed", "spec.x:\nno"],
                ["DeploymentReady", "True", "DeploymentReady", ""],
                ["Preflight", "False", "PreflightFailed", ""],
            ],
        ));
        assert_eq!((&*refused.rollout, &*refused.problem), ("refused", "spec.x: no"));
        for (kind, reason, said) in [
            ("Paused", "Paused", "paused"),
            ("Preflight", "PreflightRunning", "judged"),
            ("RolledBack", "RolledBack", "rolled back"),
            ("DeploymentReady", "RolloutStuck", "stuck"),
            ("ServiceReady", "ServiceReady", "none"),
        ] {
            assert_eq!(row(&resource("Ready", &[[kind, "True", reason, ""]])).rollout, said);
        }
        assert_eq!(Row { age: 172_800, ..ready }.age(), "2d");
    }

    #[test]
    fn what_the_operator_has_not_seen_is_said() {
        let mut changed = resource("Ready", &[]);
        changed["metadata"]["generation"] = json!(2);
        assert_eq!(row(&changed).rollout, "unseen");
        let new = row(&json!({"metadata": {"name": "a", "generation": 1}}));
        assert_eq!((&*new.phase, &*new.rollout, new.pods), ("Unknown", "unseen", (0, 0)));
        assert_eq!(new.requests, None);
    }
}
