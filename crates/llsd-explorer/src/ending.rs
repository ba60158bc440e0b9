//! What a sequence comes to, in words that a simulated and a real cluster share.

use std::collections::BTreeSet;

use llsd_plan::objects::ObjectKind;
use serde_json::Value;

use crate::wish::MOOD;
use crate::world::World;

/// What there is at rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// What runs, and on which port; nothing where there is no Deployment.
    pub template: Option<(String, i64)>,
    /// How many pods are wanted, and how many of all are available.
    pub pods: (i64, i64),
    /// How many states are kept.
    pub states: usize,
    /// The names of what the operator records on the Deployment.
    pub records: BTreeSet<String>,
    /// The ports of Service, NetworkPolicy and Ingress.
    pub ports: [Option<i64>; 3],
    /// Whether the claim belongs to the resource, where there is one.
    pub claim: Option<bool>,
    /// What conditions say, with the reasons.
    pub conditions: BTreeSet<String>,
    pub verdict: Option<String>,
}

/// The kinds of objects that an ending is read from.
pub const KINDS: [ObjectKind; 5] = [
    ObjectKind::Deployment,
    ObjectKind::Service,
    ObjectKind::NetworkPolicy,
    ObjectKind::Ingress,
    ObjectKind::VolumeClaim,
];

/// The conditions that an ending is read from.
const CONDITIONS: [&str; 5] = ["Ready", "Preflight", "RolledBack", "UpdatePending", "Stalled"];

impl Ending {
    /// Reads it from the objects of [`KINDS`], the resource's status, and the number of ReplicaSets.
    pub fn read(objects: [Option<&Value>; 5], status: &Value, states: usize) -> Self {
        let [deployment, service, policy, ingress, claim] = objects;
        let number = |object: Option<&Value>, path: &str| object?.pointer(path)?.as_i64();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let annotations = deployment.and_then(|it| it["metadata"]["annotations"].as_object());
        let records = annotations.into_iter().flat_map(|annotations| annotations.keys());
        let conditions = status["conditions"].as_array().into_iter().flatten();
        let conditions = conditions.filter(|it| CONDITIONS.contains(&&*text(&it["type"])));
        let owners = |claim: &Value| claim["metadata"]["ownerReferences"].as_array().cloned();
        Self {
            template: deployment.map(template),
            pods: (
                number(deployment, "/spec/replicas").unwrap_or_default(),
                number(deployment, "/status/availableReplicas").unwrap_or_default(),
            ),
            states,
            records: records.filter(|name| name.starts_with("llamastack.io/")).cloned().collect(),
            ports: [
                number(service, "/spec/ports/0/targetPort"),
                number(policy, "/spec/ingress/0/ports/0/port"),
                number(ingress, "/spec/rules/0/http/paths/0/backend/service/port/number"),
            ],
            claim: claim.map(|claim| owners(claim).is_some_and(|owners| !owners.is_empty())),
            conditions: conditions
                .map(|it| [&it["type"], &it["status"], &it["reason"]].map(text).join(" "))
                .collect(),
            verdict: status["preflight"]["verdict"].as_str().map(str::to_owned),
        }
    }

    /// What there is in a simulated cluster.
    pub fn of_world(world: &World) -> Self {
        let objects = KINDS.map(|kind| world.object(kind).map(|stored| &*stored.json));
        let status = if world.given.exists { &*world.status } else { &Value::Null };
        Self::read(objects, status, world.replica_sets.len())
    }
}

fn template(deployment: &Value) -> (String, i64) {
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let env = container["env"].as_array().into_iter().flatten();
    let mut moods = env.filter(|variable| variable["name"] == MOOD);
    let wish = moods.find_map(|it| it["value"].as_str()).unwrap_or_default();
    let port = container["ports"][0]["containerPort"].as_i64().unwrap_or_default();
    (wish.to_owned(), port)
}
