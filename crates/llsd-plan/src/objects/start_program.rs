//! The ConfigMap with the programs of `pod-programs` that start the server and check its configuration.
//! Its name carries a hash of them, and it never changes: pods that were made with another one can
//! still start.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;

use super::blueprint::{Blueprint, ConfigSource, Owner};
use super::kind::ObjectKind;
use super::{labels, names};
use crate::releases::ServerFamily;
use crate::values::sha256;

/// The keys, and so the names of the files. `launch.py` starts the server, and where a start has failed
/// calls `preflight.py`, which also checks what is to be rolled out; `models.py` waits for models.
pub const FILES: [(&str, &str); 9] = [
    ("launch.py", include_str!("../../pod-programs/launch.py")),
    ("installed.py", include_str!("../../pod-programs/installed.py")),
    ("registrations.py", include_str!("../../pod-programs/registrations.py")),
    ("workers.py", include_str!("../../pod-programs/workers.py")),
    ("event_loops.py", include_str!("../../pod-programs/event_loops.py")),
    ("access.py", include_str!("../../pod-programs/access.py")),
    ("preflight.py", include_str!("../../pod-programs/preflight.py")),
    ("preflight_checks.py", PREFLIGHT_CHECKS),
    ("models.py", include_str!("../../pod-programs/models.py")),
];

/// What a release says of a file, without the program around it.
pub const PREFLIGHT_CHECKS: &str = include_str!("../../pod-programs/preflight_checks.py");

static HASH: LazyLock<String> =
    LazyLock::new(|| sha256::hex(&FILES.map(|(_, text)| text).concat()));

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
            blueprint.server == ServerFamily::LlamaStack && !blueprint.listens_otherwise()
        }
        ConfigSource::Generated { .. } | ConfigSource::Override { .. } => false,
    };
    !commands && !starts_itself
}

/// The ConfigMap. A program of 70 KB is not copied for each of many plans.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StartProgram {
    api_version: &'static str,
    kind: &'static str,
    pub data: BTreeMap<&'static str, &'static str>,
    immutable: bool,
    metadata: ObjectMeta,
}

pub(super) fn start_program(blueprint: &Blueprint) -> Option<StartProgram> {
    is_used(blueprint).then(|| owned_by(&blueprint.owner()))
}

/// The ConfigMap itself, also where nothing but the preflight needs it.
pub(super) fn owned_by(owner: &Owner<'_>) -> StartProgram {
    let mut metadata = owner.owned(name(owner.name));
    metadata.labels = Some(labels::of_component(owner.name, "start"));
    StartProgram {
        api_version: "v1",
        kind: ObjectKind::ConfigMap.name(),
        data: FILES.into(),
        immutable: true,
        metadata,
    }
}
