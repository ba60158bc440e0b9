//! The base configuration, opened: read as the server reads it, its version checked, and the server
//! that it is for detected.

use std::borrow::Cow;

use serde_json::Value;

use crate::facts::BaseFacts;
use crate::problems::{FieldPath, Findings, Reason};
use crate::releases::{NoProfile, Releases, ServerProfile, detect};
use llsd_yaml::document::{self, Node, Origin};

/// The versions of config.yaml that are supported; every server there is says 2.
const SUPPORTED_VERSIONS: [u64; 2] = [1, 2];

const OTHER_IMAGE: &str = "use an image of llama-stack 0.2 to 0.7, or overrideConfig";

/// A base configuration that can be built on.
#[derive(Clone, Debug)]
pub(super) struct Base {
    pub(super) document: Node,
    pub(super) profile: ServerProfile,
    pub(super) version: u64,
}

pub(super) fn open(
    base: &BaseFacts,
    releases: &'static Releases,
    release: Option<&str>,
    findings: &mut Findings,
) -> Option<Base> {
    let path = FieldPath::spec().key("distribution");
    let source = match &base.found_in {
        Some(place) => format!("the base configuration ({place})"),
        None => "the base configuration".to_owned(),
    };
    let known = releases.already_read(&base.text);
    let read = match known {
        Some((value, _)) => Ok(Cow::Borrowed(value)),
        None => document::read(&base.text).map(Cow::Owned),
    };
    let value = match read {
        Ok(value) => value,
        Err(wrong) => {
            findings.problem(
                &path,
                Reason::UnsupportedBase,
                format!("{source} cannot be read: {}: {}", wrong.at, wrong.message),
                "correct the configuration that the image carries, or use overrideConfig",
            );
            return None;
        }
    };
    let version = match version(&value) {
        Ok(version) => version,
        Err(written) => {
            let supported = SUPPORTED_VERSIONS.map(|version| version.to_string()).join(", ");
            findings.problem(
                &path,
                Reason::UnsupportedConfigVersion,
                format!(
                    "Unsupported config.yaml version {written}. Supported versions: {supported}"
                ),
                "use an image whose configuration has a supported version, or overrideConfig",
            );
            return None;
        }
    };
    if let Some(wrong) = misshapen(&value) {
        findings.problem(
            &path,
            Reason::UnsupportedBase,
            format!("{source} is none that a server reads: {wrong}"),
            "correct the configuration that the image carries, or use overrideConfig",
        );
        return None;
    }
    match detect(releases, &value, release) {
        Ok(profile) => {
            let document = match known {
                Some((_, document)) => document.clone(),
                None => Node::from_value(value.into_owned(), &Origin::Base),
            };
            Some(Base { document, profile, version })
        }
        Err(no_profile) => {
            let (message, remedy) = match no_profile {
                NoProfile::Foreign(what) => (format!("{source} is for {what}"), OTHER_IMAGE),
                NoProfile::Contradiction(marks) => (
                    format!(
                        "{source} has the layout of no known release: these do not go together: \
                         {marks}"
                    ),
                    OTHER_IMAGE,
                ),
                NoProfile::OtherServer(marks) => (
                    format!("{source} is for llama-stack ({marks}), but the image holds OGX"),
                    "correct the configuration that the image carries, or its labels",
                ),
                NoProfile::OtherRelease { layout, marks, stated } => (
                    format!(
                        "{source} has the layout of {layout} ({marks}), but the image is of \
                         release {stated}"
                    ),
                    "give the image the configuration of its own release, or, where its tag is no \
                     release of the server, a version label that says which one it holds",
                ),
            };
            findings.problem(&path, Reason::UnsupportedBase, message, remedy);
            None
        }
    }
}

/// A part of the document that has another shape than every server wants. Building on it would lose
/// what it holds.
pub(super) fn misshapen(document: &Value) -> Option<String> {
    const MAPS: [&str; 7] = [
        "providers",
        "storage",
        "registered_resources",
        "server",
        "safety",
        "vector_stores",
        "telemetry",
    ];
    let given = |value: &Value| !value.is_null();
    let is_not = |place: &str, shape: &str| Some(format!("`{place}` is no {shape}"));
    for key in MAPS {
        if document.get(key).is_some_and(|value| given(value) && !value.is_object()) {
            return is_not(key, "map");
        }
    }
    if document.get("apis").is_some_and(|value| given(value) && !value.is_array()) {
        return is_not("apis", "list");
    }
    for (api, entries) in document.get("providers").and_then(Value::as_object).into_iter().flatten()
    {
        let place = format!("providers.{api}");
        match entries {
            Value::Null => {}
            Value::Array(entries) if entries.iter().all(Value::is_object) => {}
            Value::Array(_) => return is_not(&place, "list of maps"),
            _ => return is_not(&place, "list"),
        }
    }
    let resources = document.get("registered_resources").and_then(Value::as_object);
    for (kind, list) in resources.into_iter().flatten() {
        if given(list) && !list.is_array() {
            return is_not(&format!("registered_resources.{kind}"), "list");
        }
    }
    None
}

/// The version as a number, or how the document writes the one that is not supported.
fn version(document: &Value) -> Result<u64, String> {
    let written = match document.get("version") {
        None | Some(Value::Null) => return Err("none".to_owned()),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    match written.parse() {
        Ok(version) if SUPPORTED_VERSIONS.contains(&version) => Ok(version),
        _ => Err(written),
    }
}
