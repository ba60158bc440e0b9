//! `METADATA` and `WHEEL`: what a distribution says of itself.

use std::str::FromStr;

use pep440_rs::{Version, VersionSpecifiers};

use crate::python::{Requirement, Tag};
use crate::wheel_name::FileName;

/// The part of `METADATA` that installing needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Metadata {
    /// As the author spells it.
    pub name: String,
    pub version: Version,
    pub requires_python: Option<VersionSpecifiers>,
    pub requires: Vec<Requirement>,
    pub summary: Option<String>,
    pub author: Option<String>,
}

impl Metadata {
    /// Of a distribution of which nothing else is known.
    pub(crate) fn named(name: String, version: Version) -> Self {
        let (requires_python, requires, summary, author) = (None, Vec::new(), None, None);
        Self { name, version, requires_python, requires, summary, author }
    }

    /// Everything that is wrong with the text.
    pub(crate) fn parse(text: &str) -> Result<Self, Vec<String>> {
        let mut wrong = Vec::new();
        let fields = headers(text);
        let one = |wanted: &str| {
            let found = fields.iter().find(|(key, _)| key.eq_ignore_ascii_case(wanted));
            found.map(|(_, value)| value.clone()).filter(|value| !value.is_empty())
        };
        let name = one("Name");
        if name.is_none() {
            wrong.push("METADATA has no Name".to_owned());
        }
        let version = match one("Version").map(|version| (Version::from_str(&version), version)) {
            Some((Ok(version), _)) => Some(version),
            Some((Err(_), text)) => {
                wrong.push(format!("METADATA: {text} is no version"));
                None
            }
            None => {
                wrong.push("METADATA has no Version".to_owned());
                None
            }
        };
        let requires_python = one("Requires-Python").and_then(|text| {
            let parsed = VersionSpecifiers::from_str(&text);
            parsed.map_err(|_| wrong.push(format!("METADATA: Requires-Python {text}"))).ok()
        });
        let mut requires = Vec::new();
        for (_, text) in fields.iter().filter(|(key, _)| key.eq_ignore_ascii_case("Requires-Dist"))
        {
            match Requirement::from_str(text) {
                Ok(requirement) => requires.push(requirement),
                Err(_) => wrong.push(format!("METADATA: {text} is no requirement")),
            }
        }
        match (name, version) {
            (Some(name), Some(version)) if wrong.is_empty() => Ok(Self {
                name,
                version,
                requires_python,
                requires,
                summary: one("Summary"),
                author: one("Author").or_else(|| one("Author-email")),
            }),
            _ => Err(wrong),
        }
    }
}

/// The tags that `WHEEL` has, and what is wrong with it.
pub(super) fn tags(text: &str, name: &FileName) -> Result<(), Vec<String>> {
    let fields = headers(text);
    let mut wrong = Vec::new();
    let version = fields.iter().find(|(key, _)| key.eq_ignore_ascii_case("Wheel-Version"));
    match version.map(|(_, version)| version.as_str()) {
        Some(version) if version.starts_with("1.") => {}
        Some(version) => wrong.push(format!("WHEEL: version {version} of the format is not known")),
        None => wrong.push("WHEEL has no Wheel-Version".to_owned()),
    }
    let mut found = Vec::new();
    for (_, text) in fields.iter().filter(|(key, _)| key.eq_ignore_ascii_case("Tag")) {
        match Tag::parse(text) {
            Some(tags) => found.extend(tags),
            None => wrong.push(format!("WHEEL: {text} is no tag")),
        }
    }
    // Tools that retag a wheel sometimes leave one side behind, but a native wheel under a pure name
    // would be taken for one that runs everywhere.
    let is_pure = |tags: &[Tag]| tags.iter().all(Tag::is_pure);
    if !found.is_empty() && is_pure(&name.tags) != is_pure(&found) {
        wrong.push("its name and its WHEEL do not agree on the platform".to_owned());
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

/// The headers before the first empty line, folded lines joined.
fn headers(text: &str) -> Vec<(String, String)> {
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in text.lines().take_while(|line| !line.is_empty()) {
        if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = fields.last_mut() {
                value.push(' ');
                value.push_str(line.trim());
            }
        } else if let Some((key, value)) = line.split_once(':') {
            fields.push((key.trim().to_owned(), value.trim().to_owned()));
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_end_at_the_first_empty_line() {
        let text =
            "Name: acme\nVersion: 1.0\nRequires-Dist: httpx>=0.28; extra == 'x'\n\nName: b\n";
        let metadata = Metadata::parse(text).unwrap();
        assert_eq!((metadata.name.as_str(), metadata.requires.len()), ("acme", 1));
    }

    #[test]
    fn everything_that_is_wrong_is_said() {
        let wrong = Metadata::parse("Version: x\nRequires-Python: y\nRequires-Dist: !\n");
        let expected = [
            "METADATA has no Name",
            "METADATA: x is no version",
            "METADATA: Requires-Python y",
            "METADATA: ! is no requirement",
        ];
        assert_eq!(wrong.unwrap_err(), expected);
        assert_eq!(Metadata::parse("Name: acme\n").unwrap_err(), ["METADATA has no Version"]);
    }

    #[test]
    fn a_field_may_go_on_in_the_next_line() {
        let text = "Name: acme\nVersion: 1.0\nSummary: models\n  of ACME\n";
        assert_eq!(Metadata::parse(text).unwrap().summary.as_deref(), Some("models of ACME"));
    }
}
