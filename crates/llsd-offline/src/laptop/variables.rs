//! The environment of a server here: what its container would be given, with values out of a `.env` file in the place
//! of Secrets.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use llsd_plan::server::coercion::coerced;
use serde_json::Value;

use super::own_variables::{OWN_VARIABLES, PATHS_OF_A_POD};
use super::planned::Here;

/// How the generated names begin.
const GENERATED: &str = "LLSD_";

/// What the server is started with.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ServerVariables {
    pub set: BTreeMap<String, String>,
    /// Those without which it does not start.
    pub missing: Vec<MissingVariable>,
    /// Those whose value it would turn into a number or boolean, and then refuse to start.
    pub coerced: Vec<MissingVariable>,
    /// Generated names of the file that no field has.
    pub unused: Vec<String>,
    /// Names of the file that the command sets itself.
    pub without_effect: Vec<String>,
}

/// Values are secrets.
impl fmt::Debug for ServerVariables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.set.keys().collect();
        let Self { missing, coerced, unused, without_effect, .. } = self;
        f.debug_struct("ServerVariables")
            .field("set", &names)
            .field("missing", missing)
            .field("coerced", coerced)
            .field("unused", unused)
            .field("without_effect", without_effect)
            .finish()
    }
}

/// A variable, and the field of the resource that it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingVariable {
    pub name: String,
    pub field: String,
    /// What holds the value in a cluster.
    pub source: String,
}

/// Puts together what the plan gives the container and what the file has; the file wins.
pub fn server_variables(here: &Here, file: &BTreeMap<String, String>) -> ServerVariables {
    let mut variables = ServerVariables::default();
    let mut used = BTreeSet::new();
    for variable in &here.variables {
        let Some(name) = variable.get("name").and_then(Value::as_str) else { continue };
        // The container's own are for the container; of the resource's there is a warning.
        if OWN_VARIABLES.contains(&name) || PATHS_OF_A_POD.contains(&name) {
            continue;
        }
        used.insert(name);
        let wanted = || MissingVariable {
            name: name.to_owned(),
            field: field_of(here, name),
            source: variable.get("valueFrom").map(source).unwrap_or_default(),
        };
        let literal = variable.get("value").and_then(Value::as_str);
        let is_secret = variable.get("valueFrom").is_some();
        match (file.get(name).map(String::as_str).or(literal), is_secret) {
            (None | Some(""), true) if !is_optional(variable) => variables.missing.push(wanted()),
            (Some(value), true) if here.coerces && is_generated(here, name) && coerced(value) => {
                variables.coerced.push(wanted());
            }
            (Some(value), _) => {
                variables.set.insert(name.to_owned(), value.to_owned());
            }
            (None, _) => {}
        }
    }
    let unused = file.keys().filter(|name| name.starts_with(GENERATED));
    let unused = unused.filter(|name| !used.contains(name.as_str())).cloned();
    variables.unused = unused.collect();
    for (name, value) in file.iter().filter(|(name, _)| !used.contains(name.as_str())) {
        if OWN_VARIABLES.contains(&name.as_str()) {
            variables.without_effect.push(name.clone());
        } else {
            variables.set.insert(name.clone(), value.clone());
        }
    }
    variables
}

fn is_generated(here: &Here, name: &str) -> bool {
    here.fields.contains_key(name)
}

fn field_of(here: &Here, name: &str) -> String {
    let own = || format!("spec.workload.overrides.env, the variable {name}");
    here.fields.get(name).cloned().unwrap_or_else(own)
}

fn is_optional(variable: &Value) -> bool {
    let sources = variable.get("valueFrom").and_then(Value::as_object).into_iter().flatten();
    sources.into_iter().any(|(_, source)| source.get("optional") == Some(&Value::Bool(true)))
}

/// `the key token of the Secret vllm`.
fn source(value_from: &Value) -> String {
    let named = |kind: &str, field: &str| {
        let reference = value_from.get(field)?;
        let text = |field| reference.get(field).and_then(Value::as_str).unwrap_or_default();
        Some(format!("the key {} of the {kind} {}", text("key"), text("name")))
    };
    named("Secret", "secretKeyRef")
        .or_else(|| named("ConfigMap", "configMapKeyRef"))
        .unwrap_or_else(|| "a field of the pod".to_owned())
}

#[cfg(test)]
mod tests {
    use llsd_plan::facts::Facts;

    use super::super::planned::{Wishes, plan_here};
    use super::*;
    use crate::input::Input;
    use crate::source::Source;

    const STACK: &str = "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\nmetadata: {name: demo}\n\
        spec:\n  distribution: {name: starter}\n  workload: {overrides: {env: [{name: PLAIN, value: a}, \
        {name: REGION, valueFrom: {configMapKeyRef: {name: m, key: region}}}]}}\n  providers:\n    inference:\n    \
        - {provider: vllm, endpoint: 'http://localhost:8000', apiKey: {name: s, key: token}}\n";

    fn variables(file: &[(&str, &str)]) -> ServerVariables {
        let mut input = Input { facts: Some(Facts::default()), ..Input::default() };
        input.add(&Source::new("stack.yaml", STACK.as_bytes().to_vec()));
        let here = plan_here(input, &Wishes::default()).unwrap();
        let file = file.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        server_variables(&here, &file.collect())
    }

    #[test]
    fn what_only_a_cluster_has_is_missing_with_its_field() {
        let missing = variables(&[]).missing;
        let texts: Vec<String> =
            missing.iter().map(|it| format!("{}: {}, {}", it.name, it.field, it.source)).collect();
        let expected = [
            "LLSD_VLLM_API_KEY: spec.providers.inference[0].apiKey, the key token of the Secret s",
            "REGION: spec.workload.overrides.env, the variable REGION, the key region of the ConfigMap m",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn the_file_gives_values_replaces_literals_and_adds_variables() {
        let found = variables(&[
            ("LLSD_VLLM_API_KEY", "sk-hunter2"),
            ("LLSD_VLM_API_KEY", "x"),
            ("REGION", "eu"),
            ("PLAIN", "b"),
            ("OLLAMA_URL", "http://localhost:11434/v1"),
        ]);
        assert_eq!((found.missing.len(), found.coerced.len()), (0, 0));
        assert_eq!(found.unused, ["LLSD_VLM_API_KEY"]);
        assert_eq!(found.set["PLAIN"], "b");
        assert!(found.set.contains_key("OLLAMA_URL"));
        assert!(!found.set.contains_key("HOME") && !found.set.contains_key("LLS_PORT"));
        assert!(!format!("{found:?}").contains("hunter2"));
    }

    #[test]
    fn what_the_command_sets_itself_has_no_effect_in_the_file() {
        let found = variables(&[
            ("PATH", "/x"),
            ("LLS_WORKERS", "4"),
            ("SSL_CERT_FILE", "/ca.pem"),
            ("LLSD_VLLM_API_KEY", "x"),
        ]);
        assert_eq!(found.without_effect, ["LLS_WORKERS", "PATH"]);
        assert!(!found.set.contains_key("LLS_WORKERS") && !found.set.contains_key("PATH"));
        assert_eq!(found.set["SSL_CERT_FILE"], "/ca.pem");
    }

    #[test]
    fn a_value_that_the_server_would_take_for_a_number_is_found() {
        let found = variables(&[("LLSD_VLLM_API_KEY", "8675309"), ("REGION", "1")]);
        assert_eq!(found.coerced.len(), 1, "{found:?}");
    }
}
