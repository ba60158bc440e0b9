//! The two policies of the server. Rules for paths are those of the resource, with what the operator adds to
//! them; rules for resources are as the resource writes them.

use llsd_api::v1alpha2::{AccessRule, AccessSpec, RouteRule};
use serde::Serialize;
use serde_json::json;

use crate::policy::{DecidedBy, ServerRule, route_policy};
use crate::problems::FieldPath;
use crate::releases::Releases;
use llsd_yaml::document::{Node, Origin};

const OPEN: Origin = Origin::Rule("without these the kubelet would restart the server for ever");
const SPELLING: Origin = Origin::Rule("leads to the same");

/// `route_policy`, where there is one.
pub(super) fn routes(access: &AccessSpec, releases: &Releases, path: &FieldPath) -> Option<Node> {
    let audience = path.key("authentication").key("oidc").key("audience");
    let path = path.key("routes");
    let rules: Vec<Node> = route_policy(access, releases)
        .into_iter()
        .map(|ServerRule { by, rule }| match by {
            DecidedBy::Rule(index) => {
                written(&rule, &access.routes[index], &path.index(index), &audience)
            }
            DecidedBy::OpenPaths => Node::from_value(json!(rule), &OPEN),
            _ => Node::from_value(json!(rule), &Origin::Field(audience.clone())),
        })
        .collect();
    (!rules.is_empty()).then(|| Node::list(rules, Origin::Field(path)))
}

/// `access_policy`, where the resource has rules.
pub(super) fn rules(given: &[AccessRule], path: &FieldPath) -> Option<Node> {
    let rules = given.iter().enumerate().map(|(index, rule)| entry(rule, &path.index(index)));
    (!given.is_empty()).then(|| Node::list(rules.collect(), Origin::Field(path.clone())))
}

/// A rule of the resource, with the origin of what was added to it.
fn written(rule: &RouteRule, own: &RouteRule, path: &FieldPath, audience: &FieldPath) -> Node {
    let mut node = entry(rule, path);
    if own.when.is_none()
        && let Some(when) = node.get_mut("when")
    {
        when.origin = Origin::Field(audience.clone());
    }
    let named = own.forbid.as_ref().map_or(0, |forbid| forbid.paths.len());
    if let Some(paths) = node.get_mut("forbid").and_then(|forbid| forbid.get_mut("paths")) {
        let added = paths.list_items().iter_mut().skip(named);
        added.for_each(|path| path.origin = SPELLING);
    }
    node
}

/// A rule as the resource has it, in the order of its fields; what it leaves out is left out.
fn entry(rule: &impl Serialize, path: &FieldPath) -> Node {
    let mut entry = Node::map(Origin::Field(path.clone()));
    for (key, value) in json!(rule).as_object().into_iter().flatten() {
        entry.set(key, Node::from_field(value, &path.key(key)));
    }
    entry
}
