//! From a place in config.yaml to the field of the resource that it comes from.

use crate::plan::Plan;
use crate::problems::FieldPath;
use crate::resource::Resource;
use llsd_yaml::document::{Node, Origin};

/// How the place of an init container begins.
const INIT: &str = "initContainers.";

/// The place of an init container.
pub(super) fn of_init(container: &str) -> String {
    format!("{INIT}{container}")
}

/// Whether a place is an init container's, and not one of config.yaml.
pub(super) fn is_of_init(path: &str) -> bool {
    path.starts_with(INIT)
}

/// The field that a user can change about it.
pub fn field_of(resource: &Resource, plan: &Plan, path: &str) -> String {
    if let Some(container) = path.strip_prefix(INIT) {
        let mut external = plan.external.iter();
        if let Some(install) = external.find(|install| install.container == container) {
            return install.path.to_string();
        }
    }
    let generated = plan.generated.as_ref().map(|generated| &generated.document);
    let document = generated.or(plan.merged.as_ref().map(|merged| &merged.document));
    let field = document.and_then(|document| nearest(document, path));
    let whole = || {
        let of_user = resource.override_config().is_some();
        FieldPath::spec().key(if of_user { "overrideConfig" } else { "distribution" })
    };
    field.cloned().unwrap_or_else(whole).to_string()
}

/// The field of the deepest node on the way that has one. What the base has there is the distribution's.
fn nearest<'a>(document: &'a Node, path: &str) -> Option<&'a FieldPath> {
    let mut node = document;
    let mut found = field(node);
    for step in steps(path) {
        let below = match step {
            Step::Key(key) => node.get(key),
            Step::Index(index) => node.items().get(index),
        };
        let Some(below) = below else { break };
        node = below;
        found = match &node.origin {
            Origin::Field(path) => Some(path),
            Origin::Base => None,
            Origin::Rule(_) => found,
        };
    }
    found
}

fn field(node: &Node) -> Option<&FieldPath> {
    match &node.origin {
        Origin::Field(path) => Some(path),
        Origin::Base | Origin::Rule(_) => None,
    }
}

enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

/// The steps of a path such as `providers.inference[0].config.url`.
fn steps(path: &str) -> Vec<Step<'_>> {
    let parts = path.split(['.', '[']).filter(|part| !part.is_empty());
    parts
        .map(|part| match part.strip_suffix(']').map(str::parse) {
            Some(Ok(index)) => Step::Index(index),
            _ => part.parse().map_or(Step::Key(part), Step::Index),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_nearest_field_of_the_resource_is_named() {
        let field = FieldPath::spec().key("providers").key("inference");
        let entry = json!({"provider_id": "vllm", "config": {"url": "x"}});
        let mut own = Node::from_field(&entry, &field);
        own.set("module", Node::scalar("m", Origin::Rule("a rule")));
        let base = Node::from_value(json!({"config": {"url": "y"}}), &Origin::Base);
        let mut document = Node::map(Origin::Base);
        let list = Node::list(vec![base, own], Origin::Base);
        document.entry_map("providers", &Origin::Base).set("inference", list);
        let at = |path: &str| nearest(&document, path).map(ToString::to_string);
        let url = Some("spec.providers.inference.config.url".to_owned());
        assert_eq!(at("providers.inference[1].config.url"), url);
        assert_eq!(at("providers.inference.1.config.url"), url);
        let whole = Some("spec.providers.inference".to_owned());
        assert_eq!(at("providers.inference[1].module"), whole);
        assert_eq!(at("providers.inference[1].absent"), whole);
        assert_eq!(at("providers.inference[0].config.url"), None, "the image's own");
        assert_eq!(at(""), None);
    }
}
