//! Metadata of the owned objects, with the reference by which the cluster deletes them together
//! with their resource.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::{Blueprint, labels};

/// Metadata of an object that goes with the resource.
pub(super) fn owned(blueprint: &Blueprint, name: String) -> ObjectMeta {
    ObjectMeta { owner_references: reference(blueprint), ..kept(blueprint, name) }
}

/// Metadata of an object that outlives the resource.
pub(super) fn kept(blueprint: &Blueprint, name: String) -> ObjectMeta {
    ObjectMeta {
        name: Some(name),
        namespace: Some(blueprint.namespace.into()),
        labels: Some(labels::of_objects(blueprint.name)),
        ..Default::default()
    }
}

/// None where the resource's uid is not known, as offline: a made-up one would have the cluster
/// delete the object at once.
fn reference(blueprint: &Blueprint) -> Option<Vec<OwnerReference>> {
    let uid = blueprint.facts.owner_uid.clone()?;
    Some(vec![OwnerReference {
        api_version: format!("{}/v1alpha2", llsd_api::GROUP),
        kind: llsd_api::KIND.into(),
        name: blueprint.name.into(),
        uid,
        controller: Some(true),
        block_owner_deletion: Some(true),
    }])
}
