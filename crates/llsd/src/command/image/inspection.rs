//! What `llsd image inspect` found, as text for people and as one JSON document for programs, whose
//! fields stay:
//!
//! ```json
//! {"image": "quay.io/a/b:1", "digest": "sha256:…", "isIndex": true,
//!  "platforms": [{"platform": "linux/amd64", "digest": "sha256:…", "size": 123, "layers": 2}],
//!  "otherEntries": 0, "readPlatform": "linux/amd64",
//!  "labels": [{"name": "io.llamastack.config.version", "value": "2"}],
//!  "release": "0.7.3", "embeddedFor": [], "differingPlatforms": [],
//!  "configuration": {"source": "Labels", "label": "io.llamastack.config.base64", "size": 10691,
//!                    "version": 2, "server": "0.7.3"},
//!  "problems": [{"reason": "MissingConfigLabels", "message": "…", "remedy": "…"}],
//!  "warnings": ["…"]}
//! ```
//!
//! `configuration` is null where the image has none that can be used; `value` is where it is long.

use std::fmt::Write;

use serde::Serialize;

/// The labels that say something about the configuration begin with these.
const PREFIXES: [&str; 4] =
    ["io.llamastack.", "com.llamastack.", "com.ogx.", "org.opencontainers.image.version"];
/// A longer value is a whole configuration, of no use on a line.
const LONGEST_VALUE: usize = 100;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Inspection {
    pub(super) image: String,
    pub(super) digest: String,
    pub(super) is_index: bool,
    pub(super) platforms: Vec<Platform>,
    pub(super) other_entries: usize,
    pub(super) read_platform: String,
    pub(super) labels: Vec<Label>,
    pub(super) release: Option<String>,
    pub(super) configuration: Option<FoundConfiguration>,
    pub(super) embedded_for: Vec<String>,
    pub(super) differing_platforms: Vec<String>,
    pub(super) problems: Vec<Problem>,
    pub(super) warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Platform {
    #[serde(rename = "platform")]
    pub(super) name: String,
    pub(super) digest: String,
    pub(super) size: u64,
    pub(super) layers: usize,
}

#[derive(Debug, Serialize)]
pub(super) struct Label {
    pub(super) name: String,
    pub(super) value: Option<String>,
    #[serde(skip)]
    length: usize,
}

#[derive(Debug, Serialize)]
pub(super) struct FoundConfiguration {
    /// `Labels` or `Layer`.
    pub(super) source: String,
    pub(super) label: String,
    pub(super) size: usize,
    pub(super) version: u64,
    pub(super) server: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Problem {
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) remedy: String,
}

/// A label, if it is one of ours.
pub(super) fn label(name: &str, value: &str) -> Option<Label> {
    PREFIXES.iter().find(|prefix| name.starts_with(**prefix))?;
    let short = (value.len() <= LONGEST_VALUE).then(|| value.to_owned());
    Some(Label { name: name.to_owned(), value: short, length: value.len() })
}

impl Inspection {
    pub(super) fn to_json(&self) -> String {
        let mut json = serde_json::to_string_pretty(self).expect("strings and numbers are JSON");
        json.push('\n');
        json
    }

    pub(super) fn to_text(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let mut line = |name: &str, value: &str| {
            let _ = writeln!(text, "{name:<14} {value}");
        };
        line("image", &self.image);
        line("digest", &format!("{}{}", self.digest, if self.is_index { " (index)" } else { "" }));
        for (at, part) in self.platforms.iter().enumerate() {
            let layers = counted(part.layers, "layer", "layers");
            let own = format!("{}, {}, {layers}", part.name, bytes(part.size));
            let digest = if self.is_index { format!("  {}", part.digest) } else { String::new() };
            line(if at == 0 { "platforms" } else { "" }, &format!("{own}{digest}"));
        }
        if self.other_entries > 0 {
            line("", &format!("and {} that are no images", self.other_entries));
        }
        for (at, label) in self.labels.iter().enumerate() {
            let value = match &label.value {
                Some(value) => value.clone(),
                None => format!("({} characters)", label.length),
            };
            line(if at == 0 { "labels" } else { "" }, &format!("{}={value}", label.name));
        }
        if self.labels.is_empty() {
            line("labels", "none about a configuration");
        }
        if self.is_index {
            line("", &format!("(those of {})", self.read_platform));
        }
        if let Some(release) = &self.release {
            line("release", release);
        }
        line("operator uses", &self.used());
        text
    }

    fn used(&self) -> String {
        match &self.configuration {
            Some(found) => {
                let place = if found.source == "Layer" { "layer that" } else { "label" };
                let named = if found.source == "Layer" { " names" } else { "" };
                format!(
                    "the configuration in the {place} {}{named}: {} bytes, version {}, llama-stack {}",
                    found.label, found.size, found.version, found.server
                )
            }
            None if self.problems.is_empty() && !self.embedded_for.is_empty() => format!(
                "its own configuration of this release, that of the distribution {}",
                self.embedded_for.join(", ")
            ),
            None => "nothing: generated configuration cannot be built on this image".to_owned(),
        }
    }
}

/// `12.3 MB`.
pub(super) fn bytes(count: u64) -> String {
    let mut unit = "bytes";
    let (mut whole, mut tenths) = (count, 0);
    for larger in ["kB", "MB", "GB", "TB"] {
        if whole < 1000 {
            break;
        }
        (whole, tenths, unit) = (whole / 1000, whole % 1000 / 100, larger);
    }
    if unit == "bytes" { format!("{whole} bytes") } else { format!("{whole}.{tenths} {unit}") }
}

pub(super) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_the_unit_that_a_person_would_take() {
        for (count, text) in [
            (0, "0 bytes"),
            (999, "999 bytes"),
            (1_000, "1.0 kB"),
            (12_345_678, "12.3 MB"),
            (7_999_999_999, "7.9 GB"),
        ] {
            assert_eq!(bytes(count), text);
        }
    }
}
