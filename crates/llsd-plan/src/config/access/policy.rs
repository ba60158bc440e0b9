//! The two policies of the server, as the resource writes them. The first rule that matches decides, so
//! the paths of the probes come first.

use llsd_api::v1alpha2::{AccessRule, RouteRule};
use serde::Serialize;
use serde_json::json;

use crate::problems::FieldPath;
use crate::server::paths::OPEN_PATHS;
use llsd_yaml::document::{Node, Origin};

const OPEN: Origin = Origin::Rule("without these the kubelet would restart the server for ever");

/// `route_policy`, where the resource has routes at all.
pub(super) fn routes(given: &[RouteRule], path: &FieldPath) -> Option<Node> {
    let open = json!({
        "permit": {"paths": OPEN_PATHS},
        "description": "probes, and everybody who asks which release this is",
    });
    list(vec![Node::from_value(open, &OPEN)], given, path)
}

/// `access_policy`, where the resource has rules.
pub(super) fn rules(given: &[AccessRule], path: &FieldPath) -> Option<Node> {
    list(Vec::new(), given, path)
}

/// The rules of the resource behind others of the operator.
fn list(mut rules: Vec<Node>, given: &[impl Serialize], path: &FieldPath) -> Option<Node> {
    rules.extend(given.iter().enumerate().map(|(index, rule)| entry(rule, &path.index(index))));
    (!given.is_empty()).then(|| Node::list(rules, Origin::Field(path.clone())))
}

/// A rule as the resource has it, in the order of its fields; what it leaves out is left out.
fn entry(rule: &impl Serialize, path: &FieldPath) -> Node {
    let mut entry = Node::map(Origin::Field(path.clone()));
    for (key, value) in json!(rule).as_object().into_iter().flatten() {
        entry.set(key, Node::from_field(value, &path.key(key)));
    }
    entry
}
