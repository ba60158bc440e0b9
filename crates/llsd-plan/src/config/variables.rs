//! Variables that the finished file cannot do without. The server exits when one of them is not set,
//! and a base may refer to some that its image's users always set.

use super::draft::Draft;
use crate::problems::{FieldPath, Reason};
use crate::server::substitution::{ReferenceForm, references};
use llsd_yaml::document::{Content, Node, Origin};

/// Kinds of resources that a resource of the user's own replaces.
const KINDS: [&str; 3] = ["models", "shields", "tool_groups"];

/// Variables that every pod has, from the operator or from the kubelet.
const ALWAYS: [&str; 11] = [
    "HOME",
    "HF_HOME",
    "HOSTNAME",
    "PATH",
    "LLS_PORT",
    "LLS_WORKERS",
    "LLAMA_STACK_PORT",
    "LLAMA_STACK_CONFIG",
    "OGX_CONFIG",
    "OGX_CONFIG_DIR",
    "OGX_PORT",
];

/// A variable that nothing sets, and who refers to it.
type Unset = Vec<(String, Origin)>;

pub(super) fn apply(draft: &mut Draft<'_>) {
    drop_resources(draft);
    let mut unset = unset_variables(draft, &draft.document);
    unset.sort_by(|left, right| left.0.cmp(&right.0));
    unset.dedup();
    for (variable, origin) in unset {
        let overrides = FieldPath::spec().key("workload").key("overrides").key("env");
        let (path, who) = match &origin {
            Origin::Field(path) => (path, "refers to"),
            _ => (&overrides, "is missing a variable: the base configuration needs"),
        };
        let message =
            format!("{who} {variable}, which nothing sets, and the server exits without it");
        let remedy = format!("add {variable} to workload.overrides.env");
        // A base may count on variables of its image, which nobody may have looked into.
        if origin == Origin::Base && draft.facts.image.variables.is_none() {
            draft.findings.warning(path, Reason::Required, message, remedy);
        } else {
            draft.findings.problem(path, Reason::Required, message, remedy);
        }
    }
}

/// With models of the user's own, the base's model of a variable that nothing sets is not wanted.
fn drop_resources(draft: &mut Draft<'_>) {
    for kind in KINDS {
        let list = draft.registered_now(kind);
        let users = |node: &Node| matches!(node.origin, Origin::Field(_));
        if !list.iter().any(users) {
            continue;
        }
        let unset: Vec<Unset> = list
            .iter()
            .map(|node| if users(node) { Vec::new() } else { unset_variables(draft, node) })
            .collect();
        for (variable, _) in unset.iter().flatten() {
            draft.findings.warning(
                &FieldPath::spec().key("resources"),
                Reason::Ignored,
                format!("the base's {kind} that {variable} names are left out: nothing sets it"),
                format!("add {variable} to workload.overrides.env to have them too"),
            );
        }
        if unset.iter().any(|unset| !unset.is_empty()) {
            let mut unset = unset.into_iter();
            draft.registered(kind).retain(|_| unset.next().is_none_or(|unset| unset.is_empty()));
        }
    }
}

/// Variables without a default that neither the operator nor the resource sets.
fn unset_variables(draft: &Draft<'_>, node: &Node) -> Unset {
    match &node.content {
        Content::List(items) => {
            items.iter().flat_map(|item| unset_variables(draft, item)).collect()
        }
        // The server drops an entry of this id before it looks at its variables.
        Content::Map(_) if node.get_str("provider_id") == Some("__disabled__") => Vec::new(),
        Content::Map(fields) => {
            fields.iter().flat_map(|(_, node)| unset_variables(draft, node)).collect()
        }
        Content::Scalar(value) => references(value.as_str().unwrap_or_default())
            .filter(|reference| reference.form == ReferenceForm::Required)
            .map(|reference| reference.variable)
            .filter(|variable| !variable.starts_with("LLSD_") && !ALWAYS.contains(variable))
            .filter(|variable| draft.plain_variables.iter().all(|own| own.name != *variable))
            .filter(|variable| !draft.variables.possibly(variable))
            .map(|variable| (variable.to_owned(), node.origin.clone()))
            .collect(),
    }
}
