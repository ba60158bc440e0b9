//! The ConfigMap with the program that starts the server. Its name carries a hash of the program, and
//! it never changes: pods that were made with another one can still start.

use std::sync::LazyLock;

use k8s_openapi::api::core::v1::ConfigMap;

use super::blueprint::{Blueprint, ConfigSource};
use super::{labels, names};
use crate::releases::Server;
use crate::sha256;

/// The start program, which knows how each release of the server takes its configuration.
pub const LAUNCH: &str = include_str!("pod/launch.py");

/// The key, and so the file's name.
pub(super) const KEY: &str = "launch.py";

static HASH: LazyLock<String> = LazyLock::new(|| sha256::hex(LAUNCH));

/// The name of the ConfigMap.
pub fn name(resource: &str) -> String {
    names::start_program(resource, &HASH[..8])
}

/// Whether the server is started by this operator's program. A command of the user's own wins, and
/// the image's entrypoint stays where it can do what is asked.
pub(super) fn is_used(blueprint: &Blueprint) -> bool {
    let commands = blueprint.overrides().command.as_ref().is_some_and(|words| !words.is_empty());
    let starts_itself = match blueprint.config {
        // The entrypoint of OGX's images ends with success when the server does not start.
        ConfigSource::Default => {
            blueprint.server == Server::LlamaStack && !blueprint.listens_otherwise()
        }
        ConfigSource::Generated { .. } | ConfigSource::Override { .. } => false,
    };
    !commands && !starts_itself
}

pub(super) fn config_map(blueprint: &Blueprint) -> Option<ConfigMap> {
    if !is_used(blueprint) {
        return None;
    }
    let mut metadata = blueprint.owned(name(blueprint.name));
    metadata.labels = Some(labels::of_component(blueprint.name, "start"));
    Some(ConfigMap {
        metadata,
        data: Some([(KEY.into(), LAUNCH.into())].into()),
        immutable: Some(true),
        ..Default::default()
    })
}
