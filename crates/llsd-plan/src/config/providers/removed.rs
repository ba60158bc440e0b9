//! `enabled: false`: takes single providers of the base away. What that leaves behind is judged in
//! [`removals`](crate::config::removals).

use crate::config::draft::{Draft, RemovedProvider, entry_id, has_id};
use crate::problems::Reason;
use crate::server::substitution::EffectiveId;
use llsd_yaml::document::Origin;

/// Looks each of them up in the base; one that is not there is a problem, and forgotten.
pub(super) fn find(draft: &mut Draft<'_>) {
    let wanted = std::mem::take(&mut draft.removed);
    for mut removed in wanted {
        let ids: Vec<EffectiveId> =
            draft.providers(&removed.api).iter().filter_map(entry_id).collect();
        if let Some(own) = ids.iter().find(|own| own.id == removed.id) {
            removed.was_active = draft.variables.admit(own);
            draft.removed.push(removed);
        } else {
            let ids: Vec<String> = ids.into_iter().map(|own| own.id).collect();
            let remedy = match ids[..] {
                [] => "remove this entry".to_owned(),
                _ => format!("use one of: {}", ids.join(", ")),
            };
            draft.findings.problem(
                &removed.path.key("id"),
                Reason::NotFound,
                format!(
                    "the base configuration has no {} provider `{}` that could be taken away",
                    removed.api, removed.id
                ),
                remedy,
            );
        }
    }
}

/// Takes them out of the document. The line of their API says who did.
pub(super) fn take_away(draft: &mut Draft<'_>) {
    for RemovedProvider { api, id, path, .. } in &draft.removed {
        let providers = draft.document.get_mut("providers");
        let Some(entries) = providers.and_then(|providers| providers.get_mut(api)) else {
            continue;
        };
        entries.list_items().retain(|entry| !has_id(entry, id));
        entries.origin = Origin::Field(path.key("enabled"));
    }
}
