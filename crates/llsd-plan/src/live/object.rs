//! An owned object as the cluster holds it, as far as anybody acts on it: whether it is what would be
//! applied, and what a status reports of it. The object itself is not kept.

use serde_json::Value;

use super::claim::ClaimDetail;
use super::deployment::DeploymentDetail;
use super::job::JobDetail;
use super::outside;
use super::time::seconds;
use crate::fingerprint::{self, Fingerprint};
use crate::objects::{ObjectKind, labels, start_program};
use crate::resource::{Key, Resource};

/// An owned object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveObject {
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
    /// In seconds.
    pub created: i64,
    pub deleting: bool,
    pub detail: Detail,
}

/// What else matters of some kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detail {
    None,
    Deployment(Box<DeploymentDetail>),
    Claim(Box<ClaimDetail>),
    Outside {
        /// Where the server is reached: an address of the load balancer or the host name.
        url: Option<Box<str>>,
        /// Why whoever is to serve it does not, in their words.
        refused: Option<Box<str>>,
    },
    /// The hash of a generated configuration, or of a record of images.
    Config {
        hash: Option<Box<str>>,
        /// By which certificate authorities in it may come from another namespace.
        ca_bundle_grant: Option<Box<str>>,
    },
    Account {
        pull_secrets: Vec<Box<str>>,
    },
    Job(JobDetail),
    /// A copy of the programs that start servers, which the resources of its namespace share.
    StartProgram {
        /// It holds what its name says.
        is_intact: bool,
    },
}

impl LiveObject {
    /// Reads a live object; with it the resource that it belongs to, or the namespace whose resources share it.
    pub fn parse(kind: ObjectKind, object: &Value) -> Option<(Key, Self)> {
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
        let detail = detail(kind, object);
        let namespace = text("namespace")?;
        let key = match (&detail, controller.filter(|_| controlled_by_us)) {
            (Detail::StartProgram { .. }, _) => Key::of_namespace(namespace),
            (_, Some(owner)) => Key::new(namespace, owner["name"].as_str()?),
            (_, None) => Key::new(namespace, named_for(kind, object)?),
        };
        let child = Self {
            kind,
            name: text("name")?.into(),
            uid: text("uid").unwrap_or_default().into(),
            version: version(metadata),
            controller: controller.and_then(|owner| owner["uid"].as_str()).map(Into::into),
            controlled_by_us,
            fingerprint: fingerprint::of_live(object),
            answered: None,
            created: seconds(&metadata["creationTimestamp"]).unwrap_or(0),
            deleting: text("deletionTimestamp").is_some(),
            detail,
        };
        Some((key, child))
    }

    /// What is known of an object that no watch has shown, if it is the resource's own, or shared and intact.
    pub fn owned_by(kind: ObjectKind, live: &Value, resource: &Resource) -> Option<Self> {
        let (named, object) = Self::parse(kind, live)?;
        if object.is_shared() {
            let is_here = named.namespace == resource.key.namespace;
            return (is_here && object.is_intact()).then_some(object);
        }
        let labelled = live["metadata"]["labels"][labels::MANAGED_BY] == labels::OPERATOR;
        // Somebody may have taken the label away, and with it the object out of the watch. Of a
        // Secret the label is the only proof that the operator's own policy accepts.
        let controlled = object.controller.as_deref() == Some(resource.owner());
        let proven = kind != ObjectKind::Secret && (controlled || object.fingerprint.is_some());
        (named == resource.key && (labelled || proven)).then_some(object)
    }

    pub fn is_named(&self, kind: ObjectKind, name: &str) -> bool {
        self.kind == kind && *self.name == *name
    }

    /// Whether nothing that anybody acts on differs.
    pub fn is_same_as(&self, other: &Self) -> bool {
        Self { version: self.version, ..other.clone() } == *self
    }

    /// Whether the resources of its namespace share it.
    pub fn is_shared(&self) -> bool {
        matches!(self.detail, Detail::StartProgram { .. })
    }

    /// Whether it is a shared object that holds what its name says.
    pub fn is_intact(&self) -> bool {
        matches!(self.detail, Detail::StartProgram { is_intact: true })
    }

    /// Of a ConfigMap: the hash of its content, as its annotation has it.
    pub fn content_hash(&self) -> Option<&str> {
        let Detail::Config { hash, .. } = &self.detail else { return None };
        hash.as_deref()
    }

    pub fn claim(&self) -> Option<&ClaimDetail> {
        let Detail::Claim(detail) = &self.detail else { return None };
        Some(detail)
    }

    pub fn job(&self) -> Option<&JobDetail> {
        let Detail::Job(detail) = &self.detail else { return None };
        Some(detail)
    }

    pub fn deployment(&self) -> Option<&DeploymentDetail> {
        let Detail::Deployment(detail) = &self.detail else { return None };
        Some(detail)
    }
}

/// The resource of an object that no resource controls: a claim that outlives its resource, or a
/// Deployment whose owner v0.9 forgot. Anybody can edit labels, so names decide; and a Deployment's
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

fn is_start_program(object: &Value) -> bool {
    object["metadata"]["name"].as_str().is_some_and(start_program::is_copy)
}

fn detail(kind: ObjectKind, object: &Value) -> Detail {
    let text = |value: &Value| value.as_str().map(Box::<str>::from);
    match kind {
        ObjectKind::Deployment => Detail::Deployment(Box::new(DeploymentDetail::parse(object))),
        ObjectKind::VolumeClaim => Detail::Claim(Box::new(ClaimDetail::parse(object))),
        ObjectKind::Ingress | ObjectKind::HttpRoute | ObjectKind::Route => Detail::Outside {
            url: outside::url(kind, object),
            refused: outside::refused(kind, object),
        },
        ObjectKind::ConfigMap if is_start_program(object) => {
            Detail::StartProgram { is_intact: start_program::is_intact(object) }
        }
        ObjectKind::ConfigMap => {
            let annotations = &object["metadata"]["annotations"];
            let record = || text(&annotations[labels::IMAGES_HASH]);
            Detail::Config {
                hash: text(&annotations[labels::CONFIG_HASH]).or_else(record),
                ca_bundle_grant: text(&annotations[labels::CA_BUNDLE_GRANT]),
            }
        }
        ObjectKind::ServiceAccount => Detail::Account {
            pull_secrets: object["imagePullSecrets"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|secret| text(&secret["name"]))
                .collect(),
        },
        ObjectKind::Job => Detail::Job(JobDetail::parse(object)),
        ObjectKind::Secret
        | ObjectKind::NetworkPolicy
        | ObjectKind::Service
        | ObjectKind::DisruptionBudget
        | ObjectKind::Autoscaler
        | ObjectKind::ServiceMonitor => Detail::None,
    }
}
