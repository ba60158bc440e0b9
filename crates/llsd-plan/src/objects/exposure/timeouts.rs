//! How long a proxy waits for a server that answers in a stream. Their defaults, 30 to 60 seconds, cut
//! an answer that a model takes longer for.

use std::collections::BTreeMap;

use super::decision::{Exposure, ROUTE_API};
use crate::objects::blueprint::Blueprint;

/// By which annotations ingress-nginx and OpenShift's router are told, and an hour as each writes it.
/// Other controllers of an Ingress do not read them.
const INGRESS: [(&str, &str); 2] = [
    ("nginx.ingress.kubernetes.io/proxy-read-timeout", "3600"),
    ("nginx.ingress.kubernetes.io/proxy-send-timeout", "3600"),
];
const ROUTE: [(&str, &str); 1] = [("haproxy.router.openshift.io/timeout", "1h")];

/// By which annotation a resource says it of its HTTPRoute, whose own field it becomes: a duration, or
/// `none` to leave it to the Gateway.
pub const REQUEST_TIMEOUT: &str = "llamastack.io/request-timeout";
const NONE: &str = "none";
const DEFAULT: &str = "1h";

/// On OpenShift the router makes a Route of an Ingress, with its annotations.
pub(super) fn of_ingress(blueprint: &Blueprint, exposure: &Exposure) -> BTreeMap<String, String> {
    let of_router = ROUTE.iter().filter(|_| blueprint.serves(ROUTE_API));
    below(INGRESS.iter().chain(of_router), exposure)
}

pub(super) fn of_route(exposure: &Exposure) -> BTreeMap<String, String> {
    below(ROUTE.iter(), exposure)
}

/// The time for a whole request of an HTTPRoute.
pub(super) fn of_http_route<'a>(exposure: &Exposure<'a>) -> Option<&'a str> {
    let annotations = exposure.how.annotations.as_ref();
    let given = annotations.and_then(|annotations| annotations.get(REQUEST_TIMEOUT));
    Some(given.map_or(DEFAULT, String::as_str)).filter(|time| *time != NONE)
}

/// The resource's annotations win.
fn below<'a>(
    ours: impl Iterator<Item = &'a (&'a str, &'a str)>,
    exposure: &Exposure,
) -> BTreeMap<String, String> {
    let ours = ours.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let mut annotations: BTreeMap<String, String> = ours.collect();
    annotations.extend(exposure.how.annotations.clone().unwrap_or_default());
    annotations
}
