//! `featureFlags`: whether every server gets a NetworkPolicy or none does. v0.9 takes an absent flag
//! for `false`; here it leaves the choice to each resource:
//!
//! ```yaml
//! enableNetworkPolicy:
//!   enabled: true
//! ```

use llsd_image::settings::Problems;
use serde_json::{Map, Value};

use super::key::ConfigKey;
use super::remarks::below;

const NETWORK_POLICY: &str = "enableNetworkPolicy";
const ENABLED: &str = "enabled";

pub(super) fn network_policy(flags: &Map<String, Value>, remarks: &mut Problems) -> Option<bool> {
    let key = ConfigKey::FeatureFlags.name();
    for flag in flags.keys().filter(|flag| *flag != NETWORK_POLICY) {
        remarks.at(&below(key, flag), format!("unknown flag; known is {NETWORK_POLICY}"));
    }
    let path = below(key, NETWORK_POLICY);
    let flag = match flags.get(NETWORK_POLICY)? {
        Value::Null => return None,
        Value::Object(flag) => flag,
        _ => {
            remarks.at(&path, "must be a mapping with `enabled`");
            return None;
        }
    };
    for field in flag.keys().filter(|field| *field != ENABLED) {
        remarks.at(&below(&path, field), format!("unknown field; known is {ENABLED}"));
    }
    match flag.get(ENABLED) {
        None | Some(Value::Null) => None,
        Some(Value::Bool(enabled)) => Some(*enabled),
        Some(_) => {
            remarks.at(&below(&path, ENABLED), "must be true or false");
            None
        }
    }
}
