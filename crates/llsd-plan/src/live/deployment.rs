//! What is known of a resource's Deployment: how its pods are, and for which state of the resource
//! its template was made.

use serde_json::{Value, json};

use crate::fingerprint::FIELD_MANAGER;
use crate::objects::{labels, start_program_within};
use crate::resource::Resource;

/// The numbers and conditions of a Deployment from which its pods' state is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeploymentState {
    pub generation: i64,
    pub observed_generation: i64,
    /// `spec.replicas`.
    pub wanted: i32,
    pub replicas: i32,
    pub updated: i32,
    pub ready: i32,
    pub available: i32,
    /// Reason and message of the condition `Progressing` where it is False.
    pub stuck: Option<(String, String)>,
    /// Message of the condition `ReplicaFailure` where it is True.
    pub replica_failure: Option<String>,
    /// The image that the server's container runs.
    pub image: Option<String>,
}

/// What is known of a Deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeploymentDetail {
    pub state: DeploymentState,
    /// The state of the resource that the template belongs to.
    pub planned_for: Option<Box<str>>,
    /// The template is still that of an earlier operator.
    pub adopted: bool,
    /// The override of its distribution's image that held when it was adopted, where one did.
    pub adopted_override: Option<Box<str>>,
    /// The image of the Redis sidecar.
    pub sidecar_image: Option<Box<str>>,
    /// Its pods run a configuration that was generated.
    pub generated: bool,
    /// Its pods are started by a program in their command. The program itself is long, and read where
    /// it is needed.
    pub start_program_within: bool,
}

/// The start program that an operator before this one put into the command of a Deployment's pods.
/// What anybody else made of it is not kept.
pub fn start_program(deployment: &Value) -> Option<&str> {
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let words = container["command"].as_array()?.iter().map(Value::as_str);
    let program = start_program_within(&words.collect::<Option<Vec<&str>>>()?)?;
    let key = format!("k:{}", json!({"name": container["name"]}));
    let mut managers = deployment["metadata"]["managedFields"].as_array()?.iter();
    let is_ours = managers.any(|entry| {
        let containers = &entry["fieldsV1"]["f:spec"]["f:template"]["f:spec"]["f:containers"];
        entry["manager"] == FIELD_MANAGER && containers[&key].get("f:command").is_some()
    });
    is_ours.then_some(program)
}

impl DeploymentDetail {
    /// Whether it was made for the state that the resource has now.
    pub fn is_for(&self, resource: &Resource) -> bool {
        self.planned_for.is_some() && self.planned_for.as_deref() == resource.state().as_deref()
    }

    /// Whether images were resolved again since the resource last asked for that by its annotation.
    pub fn is_refreshed_for(&self, resource: &Resource) -> bool {
        let planned_for = self.planned_for.as_deref().unwrap_or_default();
        let refreshed = planned_for.split_once('-').map(|(_, refreshed)| refreshed);
        refreshed == resource.refreshed().as_deref()
    }

    pub(super) fn read(object: &Value) -> Self {
        let number =
            |value: &Value| value.as_i64().and_then(|n| i32::try_from(n).ok()).unwrap_or(0);
        let (metadata, spec, status) = (&object["metadata"], &object["spec"], &object["status"]);
        let condition = |kind: &str, state: &str| {
            let mut all = status["conditions"].as_array().into_iter().flatten();
            all.find(|condition| condition["type"] == kind && condition["status"] == state)
        };
        let text = |condition: &Value, field: &str| {
            condition[field].as_str().unwrap_or_default().to_owned()
        };
        let pod = &spec["template"]["spec"];
        let image = |containers: &Value, wanted: &dyn Fn(&str) -> bool| {
            let mut all = containers.as_array().into_iter().flatten();
            let found = all.find(|container| container["name"].as_str().is_some_and(wanted));
            found.and_then(|container| container["image"].as_str()).map(str::to_owned)
        };
        let annotation = |name: &str| metadata["annotations"][name].as_str().map(Box::<str>::from);
        let has = |name: &str| annotation(name).is_some();
        Self {
            state: DeploymentState {
                generation: metadata["generation"].as_i64().unwrap_or(0),
                observed_generation: status["observedGeneration"].as_i64().unwrap_or(0),
                wanted: spec["replicas"].as_i64().map_or(1, |n| i32::try_from(n).unwrap_or(1)),
                replicas: number(&status["replicas"]),
                updated: number(&status["updatedReplicas"]),
                ready: number(&status["readyReplicas"]),
                available: number(&status["availableReplicas"]),
                stuck: condition("Progressing", "False")
                    .map(|condition| (text(condition, "reason"), text(condition, "message"))),
                replica_failure: condition("ReplicaFailure", "True")
                    .map(|condition| text(condition, "message")),
                image: image(&pod["containers"], &|_| true),
            },
            planned_for: annotation(labels::PLANNED_FOR),
            adopted: annotation(labels::ADOPTED).is_some(),
            adopted_override: annotation(labels::ADOPTED_OVERRIDE),
            sidecar_image: image(&pod["initContainers"], &|name| name == labels::REDIS_SIDECAR)
                .map(Into::into),
            // A configuration of the user's own has its hash under both names.
            generated: has(labels::CONFIG_HASH) && !has(labels::USER_CONFIG_HASH),
            start_program_within: start_program(object).is_some(),
        }
    }
}
