//! What is remembered of an owned object: enough to know whether it is what would be applied, and
//! what a status tells of it. The object itself is not kept.

use llsd_plan::fingerprint::{self, Fingerprint};
use llsd_plan::objects::labels;
use llsd_plan::status::DeploymentState;
use serde_json::Value;

use crate::operator::controller::key::Key;
use llsd_plan::objects::ObjectKind;

/// An owned object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    pub kind: ObjectKind,
    pub name: Box<str>,
    pub uid: Box<str>,
    /// Grows with each change; only for telling newer from older.
    pub version: u64,
    /// The uid of the resource that controls it, if one does.
    pub controller: Option<Box<str>>,
    /// Whether that controller is a resource of ours.
    pub controlled_by_us: bool,
    /// Of what we applied to it; `None` where we never did.
    pub fingerprint: Option<Fingerprint>,
    /// Of the object whose application led to that, where the two differ: what a webhook of the
    /// cluster or the API server itself made of it is not applied again and again.
    pub answered: Option<Fingerprint>,
    pub created: Box<str>,
    pub deleting: bool,
    pub detail: Detail,
}

/// What else is told of some kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detail {
    None,
    Deployment(Box<DeploymentDetail>),
    Claim {
        phase: Box<str>,
        size: Box<str>,
    },
    /// Where the server is reached from outside: an address of the load balancer or the host name.
    Outside(Option<Box<str>>),
    Config {
        hash: Option<Box<str>>,
    },
    Account {
        pull_secrets: Vec<Box<str>>,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeploymentDetail {
    pub state: DeploymentState,
    /// The state of the resource that the template belongs to.
    pub planned_for: Option<Box<str>>,
    /// The template is still that of an earlier operator.
    pub adopted: bool,
    /// The image of the Redis sidecar.
    pub sidecar_image: Option<Box<str>>,
}

impl Child {
    /// Reads a live object; with it the resource that it belongs to.
    pub fn read(kind: ObjectKind, object: &Value) -> Option<(Key, Self)> {
        let metadata = &object["metadata"];
        let text = |field: &str| metadata[field].as_str();
        let controller = metadata["ownerReferences"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|owner| owner["controller"] == true);
        let controlled_by_us = controller.is_some_and(|owner| {
            let group = owner["apiVersion"].as_str().and_then(|version| version.split('/').next());
            group == Some(llsd_api::GROUP) && owner["kind"] == llsd_api::KIND
        });
        let name = match controller.filter(|_| controlled_by_us) {
            Some(owner) => owner["name"].as_str()?,
            None => named_for(kind, object)?,
        };
        let key = Key::new(text("namespace")?, name);
        let child = Self {
            kind,
            name: text("name")?.into(),
            uid: text("uid").unwrap_or_default().into(),
            version: version(metadata),
            controller: controller.and_then(|owner| owner["uid"].as_str()).map(Into::into),
            controlled_by_us,
            fingerprint: fingerprint::of_live(object),
            answered: None,
            created: text("creationTimestamp").unwrap_or_default().into(),
            deleting: text("deletionTimestamp").is_some(),
            detail: detail(kind, object),
        };
        Some((key, child))
    }

    /// Whether nothing that anybody acts on differs.
    pub fn is_same_as(&self, other: &Self) -> bool {
        Self { version: self.version, ..other.clone() } == *self
    }

    pub fn deployment(&self) -> Option<&DeploymentDetail> {
        match &self.detail {
            Detail::Deployment(detail) => Some(detail),
            _ => None,
        }
    }
}

/// The resource of an object that no resource controls: a claim that outlives its resource, or a
/// Deployment whose owner v0.9 forgot. Anybody can edit labels, so names tell; and a Deployment's
/// selector, which nobody can edit.
fn named_for(kind: ObjectKind, object: &Value) -> Option<&str> {
    let name = kind.resource_named(object["metadata"]["name"].as_str()?)?;
    let selected = &object["spec"]["selector"]["matchLabels"][labels::INSTANCE];
    (kind != ObjectKind::Deployment || selected == name).then_some(name)
}

/// Resource versions of one cluster can be compared as numbers.
pub fn version(metadata: &Value) -> u64 {
    metadata["resourceVersion"].as_str().and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn detail(kind: ObjectKind, object: &Value) -> Detail {
    let text = |value: &Value| value.as_str().map(Box::<str>::from);
    match kind {
        ObjectKind::Deployment => Detail::Deployment(Box::new(deployment(object))),
        ObjectKind::VolumeClaim => Detail::Claim {
            phase: text(&object["status"]["phase"]).unwrap_or_else(|| "Pending".into()),
            size: text(&object["spec"]["resources"]["requests"]["storage"]).unwrap_or_default(),
        },
        ObjectKind::Ingress | ObjectKind::HttpRoute | ObjectKind::Route => {
            Detail::Outside(outside(kind, object))
        }
        ObjectKind::ConfigMap => {
            Detail::Config { hash: text(&object["metadata"]["annotations"][labels::CONFIG_HASH]) }
        }
        ObjectKind::ServiceAccount => Detail::Account {
            pull_secrets: object["imagePullSecrets"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|secret| text(&secret["name"]))
                .collect(),
        },
        _ => Detail::None,
    }
}

fn deployment(object: &Value) -> DeploymentDetail {
    let number = |value: &Value| value.as_i64().and_then(|n| i32::try_from(n).ok()).unwrap_or(0);
    let (metadata, spec, status) = (&object["metadata"], &object["spec"], &object["status"]);
    let condition = |kind: &str, state: &str| {
        let mut all = status["conditions"].as_array().into_iter().flatten();
        all.find(|condition| condition["type"] == kind && condition["status"] == state)
    };
    let said =
        |condition: &Value, field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    let pod = &spec["template"]["spec"];
    let image = |containers: &Value, wanted: &dyn Fn(&str) -> bool| {
        let mut all = containers.as_array().into_iter().flatten();
        let found = all.find(|container| container["name"].as_str().is_some_and(wanted));
        found.and_then(|container| container["image"].as_str()).map(str::to_owned)
    };
    let annotation = |name: &str| metadata["annotations"][name].as_str().map(Box::<str>::from);
    DeploymentDetail {
        state: DeploymentState {
            generation: metadata["generation"].as_i64().unwrap_or(0),
            observed_generation: status["observedGeneration"].as_i64().unwrap_or(0),
            wanted: spec["replicas"].as_i64().map_or(1, |n| i32::try_from(n).unwrap_or(1)),
            replicas: number(&status["replicas"]),
            updated: number(&status["updatedReplicas"]),
            ready: number(&status["readyReplicas"]),
            available: number(&status["availableReplicas"]),
            stuck: condition("Progressing", "False")
                .map(|condition| (said(condition, "reason"), said(condition, "message"))),
            replica_failure: condition("ReplicaFailure", "True")
                .map(|condition| said(condition, "message")),
            image: image(&pod["containers"], &|_| true),
        },
        planned_for: annotation(labels::PLANNED_FOR),
        adopted: annotation(labels::ADOPTED).is_some(),
        sidecar_image: image(&pod["initContainers"], &|name| name == labels::REDIS_SIDECAR)
            .map(Into::into),
    }
}

/// An address as the object's controller reports it, else the host name that was asked for.
fn outside(kind: ObjectKind, object: &Value) -> Option<Box<str>> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let balancer = &status["loadBalancer"]["ingress"][0];
    let host = match kind {
        ObjectKind::Ingress => [&spec["rules"][0]["host"], &balancer["hostname"], &balancer["ip"]],
        ObjectKind::Route => [&status["ingress"][0]["host"], &spec["host"], &Value::Null],
        _ => [&spec["hostnames"][0], &Value::Null, &Value::Null],
    };
    let host = host.into_iter().find_map(|value| value.as_str().filter(|text| !text.is_empty()))?;
    let encrypted = match kind {
        ObjectKind::Ingress => spec["tls"].as_array().is_some_and(|tls| !tls.is_empty()),
        ObjectKind::Route => spec["tls"].is_object(),
        // Its listener decides, and that is an object of somebody else.
        _ => false,
    };
    let scheme = if encrypted { "https" } else { "http" };
    Some(format!("{scheme}://{host}").into())
}
