//! `access.yaml` read.

use std::collections::BTreeMap;

use super::number::Span;
use llsd_yaml::document;

/// The parts of `spec.access` by name, each with the releases that have it.
pub(super) type AccessParts = BTreeMap<String, Span>;

pub(super) fn parse(text: &str) -> Result<AccessParts, String> {
    let read = document::read(text).map_err(|error| error.message)?;
    let parts: BTreeMap<String, String> =
        serde_json::from_value(read).map_err(|error| format!("access: {error}"))?;
    parts.into_iter().map(|(part, span)| Ok((part, Span::parse(&span)?))).collect()
}
