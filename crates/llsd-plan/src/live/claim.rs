//! What is known of a volume claim: what is asked for, what is there, and whose it is.

use serde_json::Value;

use crate::fingerprint;

/// What is known of a volume claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimDetail {
    pub phase: Box<str>,
    /// What is asked for.
    pub size: Box<str>,
    /// What the volume has; empty before it is bound.
    pub capacity: Box<str>,
    pub class: Option<Box<str>>,
    /// The class is what we applied, and not the cluster's default.
    pub class_is_applied: bool,
    pub access_modes: Vec<Box<str>>,
    /// The uids of all its owners, controllers or not.
    pub owners: Vec<Box<str>>,
}

impl ClaimDetail {
    pub(super) fn parse(object: &Value) -> Self {
        let text = |value: &Value| value.as_str().map(Box::<str>::from);
        let (metadata, spec, status) = (&object["metadata"], &object["spec"], &object["status"]);
        let modes = spec["accessModes"].as_array().into_iter().flatten();
        let owners = metadata["ownerReferences"].as_array().into_iter().flatten();
        Self {
            phase: text(&status["phase"]).unwrap_or_else(|| "Pending".into()),
            size: text(&spec["resources"]["requests"]["storage"]).unwrap_or_default(),
            capacity: text(&status["capacity"]["storage"]).unwrap_or_default(),
            class: text(&spec["storageClassName"]),
            class_is_applied: fingerprint::is_applied(object, &["f:spec", "f:storageClassName"]),
            access_modes: modes.filter_map(text).collect(),
            owners: owners.filter_map(|owner| text(&owner["uid"])).collect(),
        }
    }
}
