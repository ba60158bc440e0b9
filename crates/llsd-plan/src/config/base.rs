//! The base configuration, opened: its version and its shape are checked, and that it is for a known
//! server.

use std::borrow::Cow;

use serde_json::Value;

use crate::facts::{BaseFacts, BaseSource};
use crate::problems::{FieldPath, Problem, Reason};
use crate::releases::{ConfigDocument, NoProfile, Releases, ServerFamily, ServerProfile};
use llsd_yaml::document::Node;

/// The versions of config.yaml that are supported; every server there is says 2.
const SUPPORTED_VERSIONS: [u64; 2] = [1, 2];

const OTHER_CONFIGURATION: &str =
    "correct the configuration that the image carries, or use overrideConfig";

const BASE_OF_THE_RELEASE: &str =
    "add --base with the configuration inside the image of that release, or leave --release out";

/// A base configuration that can be built on.
#[derive(Clone, Debug)]
pub(super) struct Base {
    pub(super) document: Node,
    pub(super) profile: ServerProfile,
    pub(super) version: u64,
}

/// The base, or why nothing can be built on it.
pub(super) fn open(base: &BaseFacts, document: ConfigDocument<'_>) -> Result<Base, Problem> {
    let source = match &base.found_in {
        Some(place) => format!("the base configuration ({place})"),
        None => "the base configuration".to_owned(),
    };
    let unsupported = |message: String, remedy: &str| Problem {
        path: FieldPath::spec().key("distribution"),
        reason: Reason::UnsupportedBase,
        message,
        remedy: remedy.to_owned(),
    };
    let releases = document.releases;
    let opened = document.open().map_err(|wrong| {
        let message = format!("{source} cannot be read: {}: {}", wrong.at, wrong.message);
        unsupported(message, OTHER_CONFIGURATION)
    })?;
    let version = version(&opened.value).map_err(|written| {
        let supported = SUPPORTED_VERSIONS.map(|version| version.to_string()).join(", ");
        let message =
            format!("Unsupported config.yaml version {written}. Supported versions: {supported}");
        let remedy = "use an image whose configuration has a supported version, or overrideConfig";
        Problem { reason: Reason::UnsupportedConfigVersion, ..unsupported(message, remedy) }
    })?;
    if let Some(wrong) = misshapen(&opened.value) {
        let message = format!("{source} is not a valid server configuration: {wrong}");
        return Err(unsupported(message, OTHER_CONFIGURATION));
    }
    match &opened.profile {
        Ok(profile) => Ok(Base { profile: *profile, version, document: opened.into_node() }),
        Err(why) => {
            let (message, remedy) = without_profile(&source, why, releases);
            Err(match (base.source, why) {
                // Only a command knows a release without its image.
                (BaseSource::Embedded, NoProfile::OtherRelease { .. }) => {
                    unsupported(message, BASE_OF_THE_RELEASE)
                }
                _ => unsupported(message, &remedy),
            })
        }
    }
}

/// What is wrong with a base that is for no known server, and what to do about it.
fn without_profile(
    source: &str,
    why: &NoProfile,
    releases: &'static Releases,
) -> (String, Cow<'static, str>) {
    let other_image = || {
        let first = releases.first_with(|release| release.server == ServerFamily::LlamaStack);
        let last = releases.newest(ServerFamily::LlamaStack).minor_version();
        format!("use an image of llama-stack {first} to {last}, or overrideConfig").into()
    };
    match why {
        NoProfile::Foreign(what) => (format!("{source} is for {what}"), other_image()),
        NoProfile::Contradiction(marks) => (
            format!(
                "{source} has the layout of no known release: these do not go together: {marks}"
            ),
            other_image(),
        ),
        NoProfile::OtherServer(marks) => (
            format!("{source} is for llama-stack ({marks}), but the image holds OGX"),
            "correct the configuration that the image carries, or its labels".into(),
        ),
        NoProfile::OtherRelease { layout, marks, stated } => (
            format!(
                "{source} has the layout of {layout} ({marks}), but the image is of release {stated}"
            ),
            "give the image the configuration of its own release, or, where its tag is not a release of \
             the server, a version label that says which one it holds"
                .into(),
        ),
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
    let is_not = |place: &str, shape: &str| Some(format!("`{place}` is not a {shape}"));
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
