//! Which variables the server will find set, as far as the objects that they come from are known.

use k8s_openapi::api::core::v1::{EnvFromSource, EnvVar, EnvVarSource};
use llsd_api::v1alpha2::OverridesSpec;

use super::Facts;
use crate::server::substitution::{VariableState, Variables};

/// The variables that all keys of an object become.
#[derive(Debug)]
pub(crate) struct VariablesFrom {
    /// Those that are known, each with its state.
    pub(crate) known: Vec<(String, VariableState)>,
    /// Whether there are no others.
    pub(crate) is_all: bool,
}

impl Facts {
    /// The variables of the server: the image's, below those of whole objects, below those that the resource sets one
    /// by one.
    pub(crate) fn variables(&self, overrides: Option<&OverridesSpec>) -> Variables {
        let mut variables = Variables::default();
        for name in self.image.variables.iter().flatten() {
            variables.note(name, VariableState::Set);
        }
        let sources = overrides.and_then(|overrides| overrides.env_from.as_ref());
        for source in sources.into_iter().flatten() {
            let from = self.variables_from(source);
            if !from.is_all {
                variables.note_unknown();
            }
            for (name, state) in from.known {
                variables.note(&name, state);
            }
        }
        let single = overrides.and_then(|overrides| overrides.env.as_ref());
        for variable in single.into_iter().flatten() {
            variables.note(&variable.name, self.variable_state(variable));
        }
        variables
    }

    /// The variables that all keys of an object become, as far as it is known.
    pub(crate) fn variables_from(&self, source: &EnvFromSource) -> VariablesFrom {
        let prefix = source.prefix.as_deref().unwrap_or_default();
        let named = |key: &str, is_empty: bool| (format!("{prefix}{key}"), given(is_empty));
        let mut from = VariablesFrom { known: Vec::new(), is_all: self.complete };
        if let Some(secret) = source.secret_ref.as_ref().and_then(|it| self.secrets.get(&it.name)) {
            from.is_all &= secret.forbidden.is_none();
            from.known.extend(secret.keys.iter().map(|(key, value)| named(key, value.empty)));
        }
        let map = source.config_map_ref.as_ref();
        if let Some(map) = map.and_then(|it| self.config_maps.get(&it.name)) {
            from.is_all &= map.forbidden.is_none();
            from.known.extend(map.data.iter().map(|(key, value)| named(key, value.is_empty())));
        }
        from
    }

    fn variable_state(&self, variable: &EnvVar) -> VariableState {
        match &variable.value_from {
            Some(source) => self.source_state(source),
            None => given(variable.value.as_deref().is_none_or(str::is_empty)),
        }
    }

    /// What is not optional is there, or the pod does not start.
    fn source_state(&self, source: &EnvVarSource) -> VariableState {
        let absent = |optional: Option<bool>| match (optional, self.complete) {
            (Some(true), true) => VariableState::Unset,
            (Some(true), false) => VariableState::Unknown,
            _ => VariableState::Set,
        };
        if let Some(secret) = &source.secret_key_ref {
            let found = self.secrets.get(&secret.name);
            let value = found.and_then(|found| found.keys.get(&secret.key));
            return match (value, found.is_some_and(|found| found.forbidden.is_some())) {
                (Some(value), _) => given(value.empty),
                (None, true) if secret.optional == Some(true) => VariableState::Unknown,
                (None, _) => absent(secret.optional),
            };
        }
        if let Some(map) = &source.config_map_key_ref {
            let found = self.config_maps.get(&map.name);
            let value = found.and_then(|found| found.data.get(&map.key));
            return value.map_or_else(|| absent(map.optional), |value| given(value.is_empty()));
        }
        VariableState::Set
    }
}

/// An empty value is as good as none to the server.
fn given(is_empty: bool) -> VariableState {
    if is_empty { VariableState::Unset } else { VariableState::Set }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn state(overrides: &Value, complete: bool) -> [bool; 2] {
        let facts = json!({
            "complete": complete,
            "secrets": {
                "all": {"keys": {"X": {"hash": "1"}, "EMPTY": {"hash": "2", "empty": true}}},
                "closed": {"forbidden": "no right"},
            },
            "configMaps": {"many": {"data": {"X": "1", "EMPTY": ""}}},
        });
        let facts: Facts = serde_json::from_value(facts).unwrap();
        let overrides: OverridesSpec = serde_json::from_value(overrides.clone()).unwrap();
        let variables = facts.variables(Some(&overrides));
        [variables.surely("X"), variables.possibly("X")]
    }

    const SET: [bool; 2] = [true, true];
    const UNKNOWN: [bool; 2] = [false, true];
    const UNSET: [bool; 2] = [false, false];

    #[rstest]
    #[case(json!({}), UNSET)]
    #[case(json!({"env": [{"name": "X", "value": "1"}]}), SET)]
    #[case(json!({"env": [{"name": "X", "value": ""}]}), UNSET)]
    #[case(json!({"env": [{"name": "X"}], "envFrom": [{"secretRef": {"name": "all"}}]}), UNSET)]
    #[case(json!({"envFrom": [{"secretRef": {"name": "all"}}]}), SET)]
    #[case(json!({"envFrom": [{"configMapRef": {"name": "many"}}]}), SET)]
    #[case(json!({"envFrom": [{"secretRef": {"name": "all"}, "prefix": "P_"}]}), UNSET)]
    #[case(json!({"envFrom": [{"secretRef": {"name": "closed"}}]}), UNKNOWN)]
    #[case(json!({"envFrom": [{"secretRef": {"name": "absent", "optional": true}}]}), UNSET)]
    fn whole_objects_set_what_they_hold(#[case] overrides: Value, #[case] expected: [bool; 2]) {
        assert_eq!(state(&overrides, true), expected, "{overrides}");
    }

    #[rstest]
    #[case("all", "X", true, SET)]
    #[case("all", "EMPTY", false, UNSET)]
    #[case("all", "ABSENT", true, UNSET)]
    #[case("closed", "X", true, UNKNOWN)]
    #[case("absent", "X", false, SET)]
    fn a_single_variable_is_what_its_key_holds(
        #[case] name: &str,
        #[case] key: &str,
        #[case] optional: bool,
        #[case] expected: [bool; 2],
    ) {
        let source = json!({"secretKeyRef": {"name": name, "key": key, "optional": optional}});
        let overrides = json!({"env": [{"name": "X", "valueFrom": source}]});
        assert_eq!(state(&overrides, true), expected, "{overrides}");
    }

    #[test]
    fn offline_an_object_may_hold_more_than_is_mentioned() {
        let prefixed = json!({"envFrom": [{"secretRef": {"name": "all"}, "prefix": "P_"}]});
        assert_eq!(state(&prefixed, false), UNKNOWN);
        let optional = json!({"configMapKeyRef": {"name": "absent", "key": "k", "optional": true}});
        let overrides = json!({"env": [{"name": "X", "valueFrom": optional}]});
        assert_eq!(state(&overrides, false), UNKNOWN);
        let empty = json!({"env": [{"name": "X", "value": ""}], "envFrom": [{"secretRef": {"name": "other"}}]});
        assert_eq!(state(&empty, false), UNSET);
    }
}
