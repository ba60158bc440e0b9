//! The claim of the volume that holds the server's state. It outlives the resource unless that
//! asks otherwise: a resource deleted by mistake must not take its data along.

use k8s_openapi::api::core::v1::{
    PersistentVolumeClaim, PersistentVolumeClaimSpec, VolumeResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use llsd_api::v1alpha2::DeletionPolicy;

use super::blueprint::Blueprint;
use super::names;
use crate::problem::{FieldPath, Findings, Reason};

const DEFAULT_SIZE: &str = "10Gi";

pub(super) fn volume_claim(
    blueprint: &Blueprint,
    findings: &mut Findings,
) -> Option<PersistentVolumeClaim> {
    let volume = blueprint.workload().storage.as_ref()?;
    warn_of_shared_use(blueprint, findings);
    let name = names::volume_claim(blueprint.name);
    let metadata = match volume.deletion_policy.unwrap_or_default() {
        DeletionPolicy::Retain => blueprint.lasting(name),
        DeletionPolicy::Delete => blueprint.owned(name),
    };
    let size = volume.size.clone().filter(|size| !size.0.is_empty());
    let size = size.unwrap_or_else(|| Quantity(DEFAULT_SIZE.into()));
    Some(PersistentVolumeClaim {
        metadata,
        spec: Some(PersistentVolumeClaimSpec {
            access_modes: Some(vec!["ReadWriteOnce".into()]),
            resources: Some(VolumeResourceRequirements {
                requests: Some([("storage".into(), size)].into()),
                ..Default::default()
            }),
            ..Default::default()
        }),
        ..Default::default()
    })
}

fn warn_of_shared_use(blueprint: &Blueprint, findings: &mut Findings) {
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
