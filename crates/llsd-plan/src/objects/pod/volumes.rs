//! Volumes of the pod and mounts of the server's container, with v0.9's names and places.

use k8s_openapi::api::core::v1::{
    ConfigMapVolumeSource, EmptyDirVolumeSource, KeyToPath, PersistentVolumeClaimVolumeSource,
    SecretVolumeSource, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use crate::objects::blueprint::{Blueprint, ConfigSource};
use crate::objects::config_map::{self, CONFIG_KEY};
use crate::objects::{ca_bundle, start_program};
use crate::problems::{FieldPath, Findings, Reason};
use crate::server::paths::{
    CA_BUNDLE_DIR, CA_BUNDLE_KEY, CLUSTER_CA_DIR, CONFIG_DIR, EXTERNAL_PROVIDERS_DIR, START_DIR,
    START_RECORD_DIR, TLS_DIR, TRUST_DIR,
};

/// What all external providers of a pod may bring.
const EXTERNAL_PROVIDERS_SIZE: &str = "2Gi";

pub(super) const STATE: &str = "lls-storage";
pub(super) const CA_BUNDLE: &str = "ca-bundle";
pub(super) const CONFIG: &str = "user-config";
pub(super) const TRUST: &str = "trust";
pub(super) const CLUSTER_CA: &str = "cluster-ca";
use crate::server::listening::TLS_VOLUME as TLS;
pub(super) const EXTERNAL_PROVIDERS: &str = "external-providers";
pub(super) const INSTALLER: &str = "installer";
pub(in crate::objects) const START: &str = "start-program";
pub(super) const START_RECORD: &str = "start-record";

/// The pod's volumes: the operator's, then the user's.
pub(super) fn of_pod(blueprint: &Blueprint, findings: &mut Findings) -> Vec<Volume> {
    let mut volumes = ours(blueprint);
    let theirs = blueprint.overrides().volumes.as_deref().unwrap_or_default();
    for (index, volume) in theirs.iter().enumerate() {
        if volumes.iter().any(|ours| ours.name == volume.name) {
            findings.problem(
                &overrides().key("volumes").index(index).key("name"),
                Reason::Conflict,
                format!("the pod already has a volume `{}`", volume.name),
                "give the volume another name",
            );
        }
    }
    volumes.extend_from_slice(theirs);
    check_mounts(blueprint, &volumes, findings);
    volumes
}

fn check_mounts(blueprint: &Blueprint, volumes: &[Volume], findings: &mut Findings) {
    let mounts = blueprint.overrides().volume_mounts.as_deref().unwrap_or_default();
    for (index, mount) in mounts.iter().enumerate() {
        if volumes.iter().all(|volume| volume.name != mount.name) {
            findings.problem(
                &overrides().key("volumeMounts").index(index).key("name"),
                Reason::NotFound,
                format!("there is no volume `{}`", mount.name),
                "add it to overrides.volumes, or name one that is there",
            );
        }
    }
}

fn overrides() -> FieldPath {
    FieldPath::spec().key("workload").key("overrides")
}

/// The mounts of the server's container. A mount of the user's takes the place of the operator's
/// at the same path, so that state can also lie on a volume that exists already.
pub(super) fn of_server(blueprint: &Blueprint) -> Vec<VolumeMount> {
    let theirs = blueprint.overrides().volume_mounts.as_deref().unwrap_or_default();
    let taken = |path: &str| {
        let same = |other: &VolumeMount| {
            other.mount_path.trim_end_matches('/') == path.trim_end_matches('/')
        };
        theirs.iter().any(same)
    };
    let mut mounts = our_mounts(blueprint);
    mounts.retain(|mount| !taken(&mount.mount_path));
    mounts.extend_from_slice(theirs);
    mounts
}

pub(super) fn mount(name: &str, path: &str) -> VolumeMount {
    VolumeMount { name: name.into(), mount_path: path.into(), ..Default::default() }
}

pub(in crate::objects) fn read_only(name: &str, path: &str) -> VolumeMount {
    VolumeMount { read_only: Some(true), ..mount(name, path) }
}

fn ours(blueprint: &Blueprint) -> Vec<Volume> {
    let mut volumes = vec![state(blueprint)];
    if let Some(name) = ca_bundle::name(blueprint) {
        volumes.push(Volume {
            config_map: Some(ConfigMapVolumeSource {
                name,
                items: Some(vec![item(CA_BUNDLE_KEY, CA_BUNDLE_KEY)]),
                ..Default::default()
            }),
            ..volume_named(CA_BUNDLE)
        });
    }
    if let Some(source) = config(blueprint) {
        volumes.push(Volume { config_map: Some(source), ..volume_named(CONFIG) });
    }
    if blueprint.joins_trust() {
        volumes.push(empty_volume(TRUST));
    }
    if blueprint.asks_api_server() {
        volumes.push(config_map_volume(CLUSTER_CA, "kube-root-ca.crt".to_owned()));
    }
    if let Some(secret) = blueprint.server_tls() {
        let secret = SecretVolumeSource { secret_name: Some(secret.into()), ..Default::default() };
        volumes.push(Volume { secret: Some(secret), ..volume_named(TLS) });
    }
    if !blueprint.external_providers.is_empty() {
        let size_limit = Some(Quantity(EXTERNAL_PROVIDERS_SIZE.to_owned()));
        let source = EmptyDirVolumeSource { size_limit, ..Default::default() };
        volumes.push(Volume { empty_dir: Some(source), ..volume_named(EXTERNAL_PROVIDERS) });
        volumes.push(empty_volume(INSTALLER));
    }
    if start_program::is_used(blueprint) {
        volumes.push(config_map_volume(START, start_program::name().to_owned()));
        volumes.push(empty_volume(START_RECORD));
    }
    volumes
}

fn our_mounts(blueprint: &Blueprint) -> Vec<VolumeMount> {
    let mut mounts = vec![mount(STATE, blueprint.mount_path())];
    if blueprint.config != ConfigSource::Default {
        mounts.push(read_only(CONFIG, CONFIG_DIR));
    }
    if blueprint.ca_bundle.is_some() {
        mounts.push(read_only(CA_BUNDLE, CA_BUNDLE_DIR));
    }
    if blueprint.joins_trust() {
        mounts.push(read_only(TRUST, TRUST_DIR));
    }
    if blueprint.asks_api_server() {
        mounts.push(read_only(CLUSTER_CA, CLUSTER_CA_DIR));
    }
    if blueprint.server_tls().is_some() {
        mounts.push(read_only(TLS, TLS_DIR));
    }
    if !blueprint.external_providers.is_empty() {
        mounts.push(read_only(EXTERNAL_PROVIDERS, EXTERNAL_PROVIDERS_DIR));
    }
    if start_program::is_used(blueprint) {
        mounts.push(read_only(START, START_DIR));
        mounts.push(mount(START_RECORD, START_RECORD_DIR));
    }
    mounts
}

/// The volume of `workload.storage`, or one that goes with the pod.
fn state(blueprint: &Blueprint) -> Volume {
    let Some(claim_name) = blueprint.claim_name() else { return empty_volume(STATE) };
    let claim = PersistentVolumeClaimVolumeSource { claim_name, read_only: None };
    Volume { persistent_volume_claim: Some(claim), ..volume_named(STATE) }
}

fn config(blueprint: &Blueprint) -> Option<ConfigMapVolumeSource> {
    let (theirs, items) = match &blueprint.config {
        ConfigSource::Generated { .. } => (None, None),
        // The whole ConfigMap, as v0.9 mounts it: the configuration may name other files in it.
        ConfigSource::Override { config_map, key, .. } if key == CONFIG_KEY => {
            (Some(config_map), None)
        }
        ConfigSource::Override { config_map, key, .. } => {
            (Some(config_map), Some(vec![item(key, CONFIG_KEY)]))
        }
        ConfigSource::Default => return None,
    };
    let name = config_map::own_name(blueprint).or_else(|| theirs.cloned())?;
    Some(ConfigMapVolumeSource { name, items, ..Default::default() })
}

fn item(key: &str, path: &str) -> KeyToPath {
    KeyToPath { key: key.into(), path: path.into(), mode: None }
}

/// A volume that goes with its pod.
pub(in crate::objects) fn empty_volume(name: &str) -> Volume {
    Volume { empty_dir: Some(EmptyDirVolumeSource::default()), ..volume_named(name) }
}

/// A volume with everything that a ConfigMap holds.
pub(in crate::objects) fn config_map_volume(name: &str, config_map: String) -> Volume {
    let source = ConfigMapVolumeSource { name: config_map, ..Default::default() };
    Volume { config_map: Some(source), ..volume_named(name) }
}

fn volume_named(name: &str) -> Volume {
    Volume { name: name.into(), ..Default::default() }
}
