//! The two policies of the server, as the resource writes them. The first rule that matches decides, so
//! the paths of the probes come first.

use llsd_api::one_or_many::OneOrMany;
use llsd_api::v1alpha2::{AccessRule, RouteRule};
use serde_json::{Value, json};

use crate::problems::FieldPath;
use crate::server::paths::OPEN_PATHS;
use llsd_yaml::document::{Node, Origin};

const OPEN: Origin = Origin::Rule("without these the kubelet would restart the server for ever");

/// `route_policy`, where the resource has routes at all.
pub(super) fn routes(given: &[RouteRule], path: &FieldPath) -> Option<Node> {
    if given.is_empty() {
        return None;
    }
    let open = json!({
        "permit": {"paths": OPEN_PATHS},
        "description": "probes, and everybody who asks which release this is",
    });
    let mut rules = vec![Node::from_value(open, &OPEN)];
    rules.extend(given.iter().enumerate().map(|(index, rule)| {
        let RouteRule { permit, forbid, when, unless, description } = rule;
        let scope = |paths: &llsd_api::v1alpha2::Paths| json!({"paths": paths.paths});
        let decision =
            [("permit", permit.as_ref().map(scope)), ("forbid", forbid.as_ref().map(scope))];
        entry(decision, when.as_ref(), unless.as_ref(), description.as_ref(), &path.index(index))
    }));
    Some(Node::list(rules, Origin::Field(path.clone())))
}

/// `access_policy`, where the resource has rules.
pub(super) fn rules(given: &[AccessRule], path: &FieldPath) -> Option<Node> {
    if given.is_empty() {
        return None;
    }
    let rules = given.iter().enumerate().map(|(index, rule)| {
        let AccessRule { permit, forbid, when, unless, description } = rule;
        let scope = |scope: &llsd_api::v1alpha2::Scope| {
            // Written as the resource has it; what it leaves out is left out.
            serde_json::to_value(scope).unwrap_or_default()
        };
        let decision =
            [("permit", permit.as_ref().map(scope)), ("forbid", forbid.as_ref().map(scope))];
        entry(decision, when.as_ref(), unless.as_ref(), description.as_ref(), &path.index(index))
    });
    Some(Node::list(rules.collect(), Origin::Field(path.clone())))
}

fn entry(
    decision: [(&str, Option<Value>); 2],
    when: Option<&OneOrMany<String>>,
    unless: Option<&OneOrMany<String>>,
    description: Option<&String>,
    path: &FieldPath,
) -> Node {
    let mut rule = Node::map(Origin::Field(path.clone()));
    let conditions = |given: &OneOrMany<String>| serde_json::to_value(given).unwrap_or_default();
    let conditions = [("when", when.map(conditions)), ("unless", unless.map(conditions))];
    let description = [("description", description.map(|text| Value::from(text.as_str())))];
    for (key, value) in decision.into_iter().chain(conditions).chain(description) {
        if let Some(value) = value {
            rule.set(key, Node::from_field(&value, &path.key(key)));
        }
    }
    rule
}
