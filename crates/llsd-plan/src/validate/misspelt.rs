//! Names of the server's that are nearly a known one: provider types and APIs. A name that is like none passes,
//! for an image may have providers of its own.

use llsd_api::v1alpha2::PROVIDER_APIS;
use serde_json::Value;

use super::providers::canonical_api;
use crate::problems::suggest::nearest;
use crate::problems::{FieldPath, Findings, Reason};
use crate::releases::Releases;
use crate::releases::api_name::in_snake_case;

/// How many provider names are looked at, and how long one may be: a person who sends thousands must not
/// keep the others waiting.
const PROVIDERS: usize = 50;
const LONGEST: usize = 64;

/// APIs of OGX whose providers come with the image alone.
const APIS_OF_OGX: [&str; 4] = ["messages", "interactions", "skills", "containerRuntime"];

/// APIs of some release that have no providers of their own.
const APIS_WITHOUT_PROVIDERS: [&str; 11] = [
    "benchmarks",
    "connectors",
    "conversations",
    "datasets",
    "models",
    "prompts",
    "scoringFunctions",
    "shields",
    "toolGroups",
    "vectorDbs",
    "vectorStores",
];

/// Short names of providers, which only types of the server's own have.
pub(super) fn providers(providers: &Value, findings: &mut Findings) {
    for NearlyKnown { path, written, meant } in nearly_known(providers) {
        if !is_full(written) {
            let remedy = format!(
                "did you mean {meant}? A type that only your image has is written in full: remote::{written}"
            );
            findings.problem(&path, Reason::NotFound, unknown(written), remedy);
        }
    }
}

/// Types in full, which an image may have of its own.
pub(crate) fn warn_of_types(providers: &Value, findings: &mut Findings) {
    for NearlyKnown { path, written, meant } in nearly_known(providers) {
        if is_full(written) {
            let remedy = format!("did you mean {meant}?");
            findings.warning(&path, Reason::NotFound, unknown(written), remedy);
        }
    }
}

fn is_full(written: &str) -> bool {
    written.contains("::")
}

fn unknown(written: &str) -> String {
    format!("no release has a provider `{written}` of this kind")
}

/// A provider whose name no release of any server knows.
struct NearlyKnown<'a> {
    path: FieldPath,
    written: &'a str,
    meant: &'static str,
}

fn nearly_known(providers: &Value) -> Vec<NearlyKnown<'_>> {
    let path = FieldPath::spec().key("providers");
    let apis = providers.as_object().into_iter().flatten();
    let entries = apis.flat_map(|(api, entries)| {
        let path = path.key(api);
        let listed = entries.as_array().into_iter().flatten().enumerate();
        let listed: Vec<_> = listed.map(|(index, entry)| (path.index(index), entry)).collect();
        let single = entries.is_object().then_some((path, entries));
        listed.into_iter().chain(single).map(move |(path, entry)| (api, path, entry))
    });
    let entries = entries.take(PROVIDERS).filter_map(|(api, path, entry)| {
        let written = entry["provider"].as_str().filter(|written| written.len() <= LONGEST)?;
        let meant = meant(api, written)?;
        Some(NearlyKnown { path: path.key("provider"), written, meant })
    });
    entries.collect()
}

/// Of an API under two names, a provider that one of them has is known.
fn meant(api: &str, written: &str) -> Option<&'static str> {
    let apis: &[&str] = match api {
        "agents" | "responses" => &["agents", "responses"],
        _ => &[&in_snake_case(api)],
    };
    let meant: Option<Vec<&str>> =
        apis.iter().map(|api| Releases::shipped().meant(api, written)).collect();
    meant?.first().copied()
}

/// Names in `spec.disabled` that no release knows. One that is nearly an API switches off nothing where
/// something was to be switched off; any other does no harm.
pub(super) fn disabled(spec: &Value, findings: &mut Findings) {
    let known: Vec<&str> =
        PROVIDER_APIS.into_iter().chain(APIS_WITHOUT_PROVIDERS).chain(APIS_OF_OGX).collect();
    for (index, name) in spec["disabled"].as_array().into_iter().flatten().enumerate() {
        let Some(name) = name.as_str().filter(|name| !name.is_empty()) else {
            continue;
        };
        if known.iter().any(|api| canonical_api(api) == canonical_api(name)) {
            continue;
        }
        let path = FieldPath::spec().key("disabled").index(index);
        let message = format!("no release has an API `{name}`");
        match nearest(name, known.iter().copied()) {
            Some(meant) => {
                let remedy = format!("did you mean {meant}?");
                findings.problem(&path, Reason::NotFound, message, remedy);
            }
            None => findings.warning(&path, Reason::NotFound, message, "remove it"),
        }
    }
}
