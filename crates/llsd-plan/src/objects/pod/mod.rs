//! The pods that the Deployment makes: one container with the server, and what must run before or
//! beside it.

mod command;
mod environment;
mod external_providers;
mod init_containers;
mod probes;
mod resources;
mod scheduling;
mod security;
mod server;
mod volumes;

pub(super) use environment::literal;
pub use init_containers::TRUST;
pub(super) use probes::startup_seconds;
pub(super) use resources::small;
pub(super) use volumes::{START, config_map_volume, empty_volume, read_only};

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::blueprint::{Blueprint, ConfigSource};
use super::{labels, replacement, service_account};
use crate::problems::{FieldPath, Findings, Reason};
use crate::values::sha256;

pub(super) fn template(blueprint: &Blueprint, findings: &mut Findings) -> PodTemplateSpec {
    let overrides = blueprint.overrides();
    let (labels, hashes) = (labels::selector(blueprint.name), hashes(blueprint));
    let labels = laid_over(labels, overrides.pod_labels.as_ref(), "podLabels", findings);
    let theirs = overrides.pod_annotations.as_ref();
    let annotations = laid_over(hashes, theirs, "podAnnotations", findings);
    PodTemplateSpec {
        metadata: Some(ObjectMeta {
            labels: Some(labels),
            annotations: Some(annotations).filter(|annotations| !annotations.is_empty()),
            ..Default::default()
        }),
        spec: Some(PodSpec {
            service_account_name: Some(service_account::name(blueprint)),
            automount_service_account_token: Some(false),
            // The variables that Kubernetes makes of Services collide with the server's own: a
            // Service `postgres` would set POSTGRES_PORT to `tcp://…`.
            enable_service_links: Some(false),
            image_pull_secrets: overrides.image_pull_secrets.clone(),
            security_context: Some(security::of_pod(blueprint, findings)),
            init_containers: Some(init_containers::of_pod(blueprint))
                .filter(|containers| !containers.is_empty()),
            containers: vec![server::container(blueprint, findings)],
            volumes: Some(volumes::of_pod(blueprint, findings)),
            termination_grace_period_seconds: Some(replacement::grace_seconds(blueprint)),
            topology_spread_constraints: scheduling::spread(blueprint),
            affinity: scheduling::affinity(blueprint),
            node_selector: overrides.node_selector.clone(),
            tolerations: overrides.tolerations.clone(),
            ..Default::default()
        }),
    }
}

/// Hashes of everything that the server reads only when it starts.
pub(super) fn hashes(blueprint: &Blueprint) -> BTreeMap<String, String> {
    let (config, user_config) = match &blueprint.config {
        ConfigSource::Generated { hash, .. } => (Some(hash.clone()), None),
        ConfigSource::Override { hash, .. } => (hash.clone(), hash.clone()),
        ConfigSource::Default => (None, None),
    };
    let hashes = [
        (labels::CONFIG_HASH, config),
        (labels::USER_CONFIG_HASH, user_config),
        (labels::SECRET_HASH, blueprint.secret_hash.clone()),
        (labels::VARIABLES_HASH, blueprint.variables_hash.clone()),
        (labels::CA_BUNDLE_HASH, blueprint.ca_bundle.as_deref().map(sha256::hex)),
    ];
    hashes.into_iter().filter_map(|(key, hash)| Some((key.to_owned(), hash?))).collect()
}

/// Ours win: selectors and rollouts depend on them.
fn laid_over(
    ours: BTreeMap<String, String>,
    theirs: Option<&BTreeMap<String, String>>,
    field: &str,
    findings: &mut Findings,
) -> BTreeMap<String, String> {
    let path = FieldPath::spec().key("workload").key("overrides").key(field);
    for (key, value) in theirs.into_iter().flatten() {
        if ours.get(key).is_some_and(|ours| ours != value) {
            findings.warning(
                &path.key(key),
                Reason::Ignored,
                "the operator needs its own value here",
                "remove the entry",
            );
        }
    }
    let mut merged = theirs.cloned().unwrap_or_default();
    merged.extend(ours);
    merged
}
