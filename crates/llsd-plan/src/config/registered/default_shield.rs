//! `safety.default_shield_id`: the server exits when it is not registered, at the latest once a user has made a shield
//! of their own.

use std::collections::BTreeSet;

use crate::config::draft::Draft;
use crate::problems::FieldPath;
use crate::server::substitution::{EffectiveId, VariableState};
use llsd_yaml::document::{Node, Origin};

/// What is known of the default shield.
enum Standing {
    Registered,
    /// Only where this variable is set, which only the cluster knows.
    Where(String),
    NotRegistered,
    /// It depends on a variable that nothing sets, and so there is none.
    Off,
}

/// Keeps the default while it is registered; else the given shield takes its place, or nothing does.
pub(in crate::config) fn settle(draft: &mut Draft<'_>, instead: Option<(&str, &FieldPath)>) {
    let Some(written) = draft.document.at(&["safety", "default_shield_id"]) else { return };
    let origin = written.origin.clone();
    let default = written.as_str().and_then(|id| EffectiveId::parse(id, ""));
    let standing = default.as_ref().map_or(Standing::Off, |default| standing(draft, default));
    match (standing, instead) {
        (Standing::Registered, _) | (Standing::Off, None) => {}
        (Standing::Where(variable), _) => {
            let id = default.map(|default| default.id).unwrap_or_default();
            write(draft, Node::scalar(format!("${{env.{variable}:+{id}}}"), origin));
        }
        (_, Some((name, path))) => {
            write(draft, Node::scalar(name, Origin::Field(path.clone())));
            // It may be registered only where a variable is set.
            settle(draft, None);
        }
        (Standing::NotRegistered, None) => {
            if let Some(safety) = draft.document.get_mut("safety") {
                safety.remove("default_shield_id");
            }
        }
    }
}

fn write(draft: &mut Draft<'_>, id: Node) {
    let rule = Origin::Rule("the default shield must be a registered one");
    draft.document.entry_map("safety", &rule).set("default_shield_id", id);
}

fn standing(draft: &Draft<'_>, default: &EffectiveId) -> Standing {
    let own = match draft.variables.presence(default) {
        VariableState::Unset => return Standing::Off,
        VariableState::Set => None,
        VariableState::Unknown => default.condition.clone(),
    };
    let shields = draft.registered_now("shields").iter();
    let of_this_name = shields
        .filter(|shield| effective(shield, "shield_id").is_some_and(|id| id.id == default.id));
    let mut standing = Standing::NotRegistered;
    for mut unknown in of_this_name.filter_map(|shield| unknown_variables(draft, shield)) {
        unknown.retain(|variable| Some(variable) != own.as_ref());
        let others = unknown.len();
        match unknown.pop_first() {
            None => return Standing::Registered,
            Some(variable) if others == 1 && own.is_none() => standing = Standing::Where(variable),
            Some(_) => {}
        }
    }
    standing
}

/// The variables of which only the cluster knows whether they are set, and with them the shield is registered; nothing
/// where it is not registered in any case.
fn unknown_variables(draft: &Draft<'_>, shield: &Node) -> Option<BTreeSet<String>> {
    let mut unknown = BTreeSet::new();
    for key in ["shield_id", "provider_id"] {
        let id = effective(shield, key)?;
        match draft.variables.presence(&id) {
            VariableState::Set => {}
            VariableState::Unset => return None,
            VariableState::Unknown => unknown.extend(id.condition),
        }
    }
    Some(unknown)
}

fn effective(shield: &Node, key: &str) -> Option<EffectiveId> {
    EffectiveId::parse(shield.get_str(key)?, "")
}
