//! `resources.shields`: shields, registered with a safety provider, and the default one.

use std::collections::HashSet;

use llsd_api::v1alpha2::ShieldEntry;

use super::assignment;
use super::default_shield;
use super::item::ResourceItem;
use crate::config::draft::{Draft, has_id};
use crate::config::providers::{instead_of, last_of_llama_stack};
use crate::problems::{FieldPath, Reason};
use crate::releases::ProviderType;
use llsd_yaml::document::{Node, Origin};

type Shield<'a> = ResourceItem<'a, ShieldEntry>;

pub(in crate::config) fn apply(draft: &mut Draft<'_>) {
    let shields = draft.spec.resources.as_ref().and_then(|resources| resources.shields.as_ref());
    let of_base = draft.registered_now("shields").len();
    let mut first = None;
    let mut seen = HashSet::new();
    for shield in Shield::all(shields, "shields", |entry| &entry.name) {
        if assignment::dropped(draft, "safety", &shield.path, "shield") {
            continue;
        }
        if draft.profile.lacks_api("safety") {
            let remedy =
                format!("remove the shield{}", instead_of(draft.profile.releases, "safety"));
            let message = format!(
                "{} has no shields, which ended with {}",
                draft.profile.name(),
                last_of_llama_stack(draft.profile.releases)
            );
            draft.findings.problem(&shield.path, Reason::NotFound, message, remedy);
            continue;
        }
        if !seen.insert(shield.name) {
            assignment::listed_twice(draft, "shield", shield.name, &shield.path);
            continue;
        }
        if register(draft, of_base, &shield) && first.is_none() {
            first = Some(shield);
        }
    }
    if let Some(first) = first {
        default_shield::settle(draft, Some((first.name, &first.path)));
    }
}

fn register(draft: &mut Draft<'_>, of_base: usize, shield: &Shield<'_>) -> bool {
    let ResourceItem { name, entry, path } = shield;
    let named = entry.and_then(|entry| entry.provider.as_deref());
    let Some(provider) = assignment::assign(draft, "safety", named, path) else { return false };
    let mut node = Node::map(Origin::Field(path.clone()));
    node.set("shield_id", Node::scalar(*name, Origin::Field(shield.name_path())));
    node.set("provider_id", Node::scalar(provider.written.as_str(), provider.origin));
    match entry.and_then(|entry| entry.model.as_deref()) {
        Some(model) => {
            let origin = Origin::Field(path.key("model"));
            node.set("provider_shield_id", Node::scalar(model, origin));
        }
        None => warn_without_model(draft, &provider.id, name, path),
    }
    if let Some(params) = entry.and_then(|entry| entry.params.as_ref()) {
        node.set("params", Node::from_field(&params.clone().into(), &path.key("params")));
    }
    assignment::put(draft.registered("shields"), of_base, "shield_id", name, node);
    true
}

/// Llama Guard asks a model for its decision; without one the shield answers every request with
/// "model not found".
fn warn_without_model(draft: &mut Draft<'_>, provider: &str, name: &str, path: &FieldPath) {
    let guards = draft.providers("safety").iter().any(|entry| {
        has_id(entry, provider)
            && draft.known_type("safety", entry).is_some_and(ProviderType::asks_model)
    });
    // A name with a slash may be the served model itself.
    if guards && !name.contains('/') {
        draft.findings.warning(
            path,
            Reason::Required,
            format!("the shield `{name}` has no model, and Llama Guard needs one"),
            "set model to a served model, for example vllm/meta-llama/Llama-Guard-3-8B",
        );
    }
}
