//! Reads the operator ConfigMap's `registries` document, and the entries that OpenShift's objects
//! have in common with it.
//!
//! ```yaml
//! mirrors:
//!   - source: quay.io/team           # or a whole host, or *.example.com for all hosts below it
//!     mirrors:                       # asked in this order, the rest of the path appended
//!       - mirror.internal:5000/quay/team
//!       - backup.internal/team
//!     mirrorSourcePolicy: NeverContactSource    # default AllowContactingSource: the source last
//!     pullBy: Digest                 # only references by Digest, or by Tag; default Any
//! certificateAuthorities:            # trusted for that host, beside the system's
//!   mirror.internal:5000: |
//!     -----BEGIN CERTIFICATE-----
//!     …
//! insecureHosts: [registry.lab:5000] # plain HTTP, without TLS
//! privateHosts: ["*.internal"]       # may be at private, loopback or link-local addresses
//! ```
//!
//! Hosts are written as in an image reference: with their port, where the reference has one.

use serde_json::{Map, Value};

use super::allowances::check_certificates;
use super::location::{HostPattern, RepositoryPrefix, check_mirror};
use super::{MirrorRule, MirrorSourcePolicy, PullBy, Registries};
use crate::settings::{ConfigProblem, Problems, below, document};

const FIELDS: [&str; 4] = ["mirrors", "certificateAuthorities", "insecureHosts", "privateHosts"];

impl Registries {
    /// Reads the document; an empty one is the default. All mistakes are reported together.
    pub fn parse(text: &str) -> Result<Self, Vec<ConfigProblem>> {
        let value = document(text).map_err(|problem| vec![problem])?;
        let mut problems = Problems::default();
        let mut registries = Self::default();
        if value.is_null() {
            return Ok(registries);
        }
        if let Some(root) = problems.object("", &value, &FIELDS) {
            for (path, item) in problems.items("mirrors", root.get("mirrors")) {
                registries.rules.extend(configured_rule(&path, item, &mut problems));
            }
            registries.authorities = authorities(root.get("certificateAuthorities"), &mut problems);
            registries.insecure = hosts("insecureHosts", root, &mut problems);
            registries.private = hosts("privateHosts", root, &mut problems);
        }
        if problems.0.is_empty() { Ok(registries) } else { Err(problems.0) }
    }
}

fn configured_rule(path: &str, item: &Value, problems: &mut Problems) -> Option<MirrorRule> {
    let known = ["source", "mirrors", "mirrorSourcePolicy", "pullBy"];
    let fields = problems.object(path, item, &known)?;
    let pull_by = match problems.text(&below(path, "pullBy"), fields.get("pullBy")) {
        None | Some("Any") => PullBy::Any,
        Some("Digest") => PullBy::Digest,
        Some("Tag") => PullBy::Tag,
        Some(_) => {
            problems.at(&below(path, "pullBy"), "must be Any, Digest or Tag");
            PullBy::Any
        }
    };
    let rule = rule(path, fields, pull_by, problems)?;
    if rule.mirrors.is_empty()
        && rule.policy == MirrorSourcePolicy::AllowContactingSource
        && fields.get("mirrors").and_then(Value::as_array).is_none_or(Vec::is_empty)
    {
        problems.at(
            &below(path, "mirrors"),
            "at least one mirror is required, or NeverContactSource to block the source",
        );
    }
    Some(rule)
}

/// The fields that every kind of mirror entry has.
pub(super) fn rule(
    path: &str,
    fields: &Map<String, Value>,
    pull_by: PullBy,
    problems: &mut Problems,
) -> Option<MirrorRule> {
    let at_source = below(path, "source");
    let source = problems.required(&at_source, fields.get("source"));
    let source = source.and_then(|text| match RepositoryPrefix::parse(text) {
        Ok(source) => Some(source),
        Err(message) => {
            problems.at(&at_source, message);
            None
        }
    });
    let mirrors = problems.parsed(&below(path, "mirrors"), fields.get("mirrors"), |mirror| {
        check_mirror(mirror).map(|()| mirror.to_owned())
    });
    let at_policy = below(path, "mirrorSourcePolicy");
    let policy = match problems.text(&at_policy, fields.get("mirrorSourcePolicy")) {
        None | Some("" | "AllowContactingSource") => MirrorSourcePolicy::AllowContactingSource,
        Some("NeverContactSource") => MirrorSourcePolicy::NeverContactSource,
        Some(_) => {
            problems.at(&at_policy, "must be AllowContactingSource or NeverContactSource");
            return None;
        }
    };
    Some(MirrorRule { source: source?, mirrors, policy, pull_by })
}

fn authorities(value: Option<&Value>, problems: &mut Problems) -> Vec<(HostPattern, String)> {
    let path = "certificateAuthorities";
    let hosts = match value {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Object(hosts)) => hosts,
        Some(_) => {
            problems.at(path, "must be an object of hosts and PEM texts");
            return Vec::new();
        }
    };
    let mut found = Vec::new();
    for (host, value) in hosts {
        let path = format!("{path}[{host:?}]");
        let pattern = HostPattern::parse(host);
        let Some(text) = problems.required(&path, Some(value)) else { continue };
        match (pattern, check_certificates(text)) {
            (Ok(pattern), Ok(())) => found.push((pattern, text.to_owned())),
            (pattern, checked) => {
                for message in [pattern.err(), checked.err()].into_iter().flatten() {
                    problems.at(&path, message);
                }
            }
        }
    }
    found
}

fn hosts(key: &str, root: &Map<String, Value>, problems: &mut Problems) -> Vec<HostPattern> {
    problems.parsed(key, root.get(key), HostPattern::parse)
}
