//! Models that must be there before the server starts: a release that ends without them is told, by a
//! variable, which backends the pod has to ask first.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::draft::{Draft, entry_id};
use crate::config::wiring::{AWAITED_MODELS, Variable};
use crate::server::substitution::EffectiveId;

pub(super) fn apply(draft: &mut Draft<'_>) {
    let providers = backends(draft);
    if !providers.is_empty() {
        let value = json!({ "providers": providers }).to_string();
        draft.plain_variables.push(Variable::literal(AWAITED_MODELS, value));
    }
}

/// The backends that are asked, by the id of the provider, with what the catalogue knows of them.
fn backends(draft: &Draft<'_>) -> Map<String, Value> {
    let registered = with_models(draft);
    let asked = draft.providers("inference").iter().filter_map(|entry| {
        let id = entry_id(entry)?.id;
        let known = draft.known_type("inference", entry)?;
        let backend = known.awaits()?;
        // A server with a key asks for nothing at its start, and the pod would ask without it.
        let has_key = known.key().is_some_and(|key| entry.at(&["config", key]).is_some());
        let awaited = registered.contains(&id) && !has_key;
        awaited.then(|| (id, json!(backend)))
    });
    asked.collect()
}

/// The providers that models are registered with.
fn with_models(draft: &Draft<'_>) -> BTreeSet<String> {
    let models = draft.registered_now("models").iter();
    let written = models.filter_map(|model| model.get_str("provider_id"));
    written.filter_map(|id| Some(EffectiveId::parse(id, "")?.id)).collect()
}
