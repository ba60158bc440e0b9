//! `routes.yaml` read.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::number::Span;
use llsd_yaml::document;

/// What `routes.yaml` says.
pub(super) struct RouteTable {
    /// Paths, each with the releases that serve it.
    pub(super) routes: Vec<(String, Vec<Span>)>,
    pub(super) aliases: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRoutes {
    routes: Map<String, Value>,
    aliases: BTreeMap<String, String>,
}

pub(super) fn parse(text: &str) -> Result<RouteTable, String> {
    let read = document::read(text).map_err(|error| error.message)?;
    let WrittenRoutes { routes, aliases } =
        serde_json::from_value(read).map_err(|error| format!("routes: {error}"))?;
    let routes = routes.into_iter().map(|(path, written)| Ok((path, spans(&written)?)));
    Ok(RouteTable { routes: routes.collect::<Result<_, String>>()?, aliases })
}

/// One span, or a list of them.
fn spans(written: &Value) -> Result<Vec<Span>, String> {
    let texts = written.as_array().map_or(std::slice::from_ref(written), Vec::as_slice);
    texts.iter().map(|text| Span::parse(text.as_str().unwrap_or_default())).collect()
}
