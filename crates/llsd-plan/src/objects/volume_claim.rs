//! The claim of the volume that holds the server's state. It outlives the resource unless that
//! asks otherwise: a resource deleted by mistake must not take its data along.

use k8s_openapi::api::core::v1::{
    PersistentVolumeClaim, PersistentVolumeClaimSpec, VolumeResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use llsd_api::v1alpha2::{AccessMode, DeletionPolicy};

use super::blueprint::Blueprint;
use super::kind::ObjectKind;
use super::names;
use crate::problems::{FieldPath, Findings, Reason};

const DEFAULT_SIZE: &str = "10Gi";

pub(super) fn volume_claim(
    blueprint: &Blueprint,
    findings: &mut Findings,
) -> Option<PersistentVolumeClaim> {
    let volume = blueprint.workload().storage.as_ref()?;
    if let Some(claim) = &volume.existing_claim {
        check_existing(blueprint, claim, findings);
        return None;
    }
    let modes = volume.access_modes.as_deref().unwrap_or(&[AccessMode::ReadWriteOnce]);
    let modes: Vec<String> = modes.iter().map(|mode| mode.as_str().to_owned()).collect();
    warn_of_shared_use(blueprint, &modes, findings);
    let name = names::of(ObjectKind::VolumeClaim, blueprint.name);
    let metadata = match volume.deletion_policy.unwrap_or_default() {
        DeletionPolicy::Retain => blueprint.lasting(name),
        DeletionPolicy::Delete => blueprint.owned(name),
    };
    let size = volume.size.clone().filter(|size| !size.0.is_empty());
    let size = size.unwrap_or_else(|| Quantity(DEFAULT_SIZE.into()));
    Some(PersistentVolumeClaim {
        metadata,
        spec: Some(PersistentVolumeClaimSpec {
            access_modes: Some(modes),
            storage_class_name: volume.storage_class_name.clone(),
            resources: Some(VolumeResourceRequirements {
                requests: Some([("storage".into(), size)].into()),
                ..Default::default()
            }),
            ..Default::default()
        }),
        ..Default::default()
    })
}

/// A claim of the user's own must be there: pods without it never start, and the old ones are gone by
/// then.
fn check_existing(blueprint: &Blueprint, claim: &str, findings: &mut Findings) {
    let facts = blueprint.facts;
    let path = FieldPath::spec().key("workload").key("storage").key("existingClaim");
    let found = facts.claims.get(claim);
    if found.is_some_and(|found| found.missing) || (found.is_none() && facts.complete) {
        findings.problem(
            &path,
            Reason::ClaimNotFound,
            format!("PersistentVolumeClaim not found: {claim}"),
            "create the claim, or name one that exists",
        );
    } else if let Some(found) = found {
        warn_of_shared_use(blueprint, &found.access_modes, findings);
    }
}

fn warn_of_shared_use(blueprint: &Blueprint, modes: &[String], findings: &mut Findings) {
    if modes.iter().any(|mode| mode == AccessMode::ReadWriteMany.as_str()) {
        return;
    }
    let path = FieldPath::spec().key("workload");
    let path = match blueprint.autoscaling() {
        Some(autoscaling) if autoscaling.max_replicas > 1 => {
            path.key("autoscaling").key("maxReplicas")
        }
        _ if blueprint.replicas() > 1 => path.key("replicas"),
        _ => return,
    };
    findings.warning(
        &path,
        Reason::Conflict,
        "several pods share one volume that only one node can mount",
        "keep the state in Redis and PostgreSQL (spec.storage) and remove workload.storage, or run one pod",
    );
}
