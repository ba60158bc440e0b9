//! The resource as one machine can run it: endpoints that it reaches in the place of the cluster's, and without what
//! only a cluster has. Whatever is left out is named.

use std::collections::{BTreeMap, BTreeSet};

use llsd_plan::problems::suggest::did_you_mean;
use llsd_plan::problems::{FieldPath, Findings, Reason};
use serde_json::{Map, Value};

use super::addresses::warn_of_cluster_addresses;
use super::own_variables::{OWN_VARIABLES, PATHS_OF_A_POD, in_place_of};
use super::provider_ids::provider_id;

/// Endpoints by the id of their provider.
pub type Endpoints = BTreeMap<String, String>;

/// Sections of the spec that are planned as they are.
const PLANNED: [&str; 7] = [
    "distribution",
    "providers",
    "resources",
    "disabled",
    "access",
    "overrideConfig",
    "baseConfig",
];
/// What is kept of `workload.overrides`.
const OVERRIDES: [&str; 2] = ["env", "args"];
/// Fields of `workload` that something here takes the place of: the data folder, and the check before each restart.
const DONE_HERE: [&str; 3] = ["storage", "preflight", "rollback"];

#[derive(Debug)]
pub(super) struct Adapted {
    /// In the v1alpha2 form.
    pub(super) object: Value,
    pub(super) findings: Findings,
}

/// The resource in its v1alpha2 form, for one machine.
pub(super) fn adapt(object: &Value, endpoints: &Endpoints) -> Adapted {
    let mut adapted = Adapted { object: object.clone(), findings: Findings::default() };
    let Adapted { object, findings } = &mut adapted;
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return adapted };
    refuse_external_providers(spec, findings);
    refuse_cluster_tokens(spec, findings);
    replace_endpoints(spec, endpoints, findings);
    warn_of_cluster_addresses(spec, findings);
    replace_storage(spec, findings);
    leave_out_tls(spec, findings);
    warn_of_overrides(spec, findings);
    warn_of_variables(spec, findings);
    leave_out_the_rest(spec, findings);
    adapted
}

fn refuse_external_providers(spec: &Map<String, Value>, findings: &mut Findings) {
    let Some(external) = spec.get("externalProviders").and_then(Value::as_object) else { return };
    if external.values().any(|list| list.as_array().is_some_and(|list| !list.is_empty())) {
        findings.problem(
            &FieldPath::spec().key("externalProviders"),
            Reason::Invalid,
            "external providers are installed from images, which only a cluster pulls",
            "run a copy of the file without them",
        );
    }
}

fn refuse_cluster_tokens(spec: &Map<String, Value>, findings: &mut Findings) {
    let authentication = spec.get("access").and_then(|access| access.get("authentication"));
    if authentication.is_some_and(|it| it.get("kubernetes").is_some()) {
        findings.problem(
            &FieldPath::spec().key("access").key("authentication").key("kubernetes"),
            Reason::Invalid,
            "only a cluster's API server can check the tokens of the cluster",
            "run a copy of the file with another kind of authentication, or without access",
        );
    }
}

/// Puts each endpoint into the providers of its id, whatever API they serve.
fn replace_endpoints(
    spec: &mut Map<String, Value>,
    endpoints: &Endpoints,
    findings: &mut Findings,
) {
    let mut unknown: BTreeSet<&str> = endpoints.keys().map(String::as_str).collect();
    let mut ids: BTreeSet<String> = BTreeSet::new();
    for provider in provider_entries(spec) {
        let Some(id) = provider_id(provider) else { continue };
        if let Some(endpoint) = endpoints.get(&id) {
            unknown.remove(id.as_str());
            provider.retain(|field, _| !matches!(field.as_str(), "host" | "from"));
            provider.insert("endpoint".to_owned(), endpoint.as_str().into());
        }
        ids.insert(id);
    }
    for id in unknown {
        let known: Vec<&str> = ids.iter().map(String::as_str).collect();
        let list = if known.is_empty() {
            "the file has no providers; set the variables of the base in the .env file".to_owned()
        } else {
            did_you_mean(id, known.iter().copied(), &format!("the file has {}", known.join(", ")))
        };
        findings.problem(
            &FieldPath::spec().key("providers"),
            Reason::NotFound,
            format!("--endpoint {id}=…: no provider of the file has the id `{id}`"),
            list,
        );
    }
}

/// The providers of all APIs, each of which has one or a list.
fn provider_entries(
    spec: &mut Map<String, Value>,
) -> impl Iterator<Item = &mut Map<String, Value>> {
    let apis = spec.get_mut("providers").and_then(Value::as_object_mut);
    apis.into_iter().flat_map(Map::values_mut).flat_map(|entries| match entries {
        Value::Array(list) => list.iter_mut().filter_map(Value::as_object_mut).collect::<Vec<_>>(),
        Value::Object(one) => vec![one],
        _ => Vec::new(),
    })
}

/// State is kept in SQLite in the data folder, as it is without the section.
fn replace_storage(spec: &mut Map<String, Value>, findings: &mut Findings) {
    let Some(storage) = spec.remove("storage") else { return };
    for (part, value) in storage.as_object().into_iter().flatten() {
        let is_sqlite = value.get("type").is_none_or(|kind| kind == "sqlite");
        if !is_sqlite || !matches!(part.as_str(), "kv" | "sql") {
            findings.warning(
                &FieldPath::spec().key("storage").key(part),
                Reason::Ignored,
                "the cluster's database is not used: state is kept in SQLite in the data folder",
                "nothing to do",
            );
        }
    }
}

fn leave_out_tls(spec: &Map<String, Value>, findings: &mut Findings) {
    let path = FieldPath::spec().key("networking").key("tls");
    let Some(tls) = spec.get("networking").and_then(|networking| networking.get("tls")) else {
        return;
    };
    if tls.get("enabled") == Some(&Value::Bool(true)) {
        let remedy = "use http:// on this machine";
        findings.warning(&path.key("enabled"), Reason::Ignored, "not served on loopback", remedy);
    }
    if tls.get("caBundle").is_some() {
        findings.warning(
            &path.key("caBundle"),
            Reason::Ignored,
            "the server trusts the authorities of this machine",
            "name a PEM file with more of them in SSL_CERT_FILE, in the environment or the .env file",
        );
    }
}

/// Parts of `workload.overrides` whose effect may be missed.
fn warn_of_overrides(spec: &Map<String, Value>, findings: &mut Findings) {
    let Some(overrides) = spec.get("workload").and_then(|workload| workload.get("overrides"))
    else {
        return;
    };
    let path = FieldPath::spec().key("workload").key("overrides");
    let mut warn = |field: &str, message: &str, remedy: &str| {
        if overrides.get(field).is_some() {
            findings.warning(&path.key(field), Reason::Ignored, message, remedy);
        }
    };
    warn(
        "command",
        "llsd starts the server itself",
        "nothing to do, unless it does more than that",
    );
    warn("envFrom", "Secrets and ConfigMaps are not read", "set their variables in the .env file");
    let remedy = "use paths of this machine in a copy of the file";
    warn("volumes", "nothing is mounted", remedy);
    warn("volumeMounts", "nothing is mounted", remedy);
}

/// Variables of the resource that the server here gets from the command, or not at all.
fn warn_of_variables(spec: &Map<String, Value>, findings: &mut Findings) {
    let env = spec.get("workload").and_then(|workload| workload.pointer("/overrides/env"));
    let path = FieldPath::spec().key("workload").key("overrides").key("env");
    for (index, variable) in env.and_then(Value::as_array).into_iter().flatten().enumerate() {
        let Some(name) = variable.get("name").and_then(Value::as_str) else { continue };
        let (why, remedy) = if OWN_VARIABLES.contains(&name) {
            ("llsd sets it itself", in_place_of(name).unwrap_or("nothing to do"))
        } else if PATHS_OF_A_POD.contains(&name) {
            ("it names a path of a pod", "set it in the .env file, for this machine")
        } else {
            continue;
        };
        let message = format!("{name} has no effect: {why}");
        findings.warning(&path.index(index), Reason::Ignored, message, remedy);
    }
}

/// Removes what is left, and names it in one warning: the planner would ask a cluster for some of it.
fn leave_out_the_rest(spec: &mut Map<String, Value>, findings: &mut Findings) {
    let mut without_effect = Vec::new();
    if let Some(workload) = spec.get_mut("workload").and_then(Value::as_object_mut) {
        if let Some(overrides) = workload.get_mut("overrides").and_then(Value::as_object_mut) {
            let warned_of = ["command", "envFrom", "volumes", "volumeMounts"];
            let left = keep(overrides, &OVERRIDES);
            let left = left.into_iter().filter(|(field, _)| !warned_of.contains(&field.as_str()));
            name("workload.overrides", left, &mut without_effect);
        }
        let left = keep(workload, &["overrides"]);
        let left = left.into_iter().filter(|(field, _)| !DONE_HERE.contains(&field.as_str()));
        name("workload", left, &mut without_effect);
    }
    if let Some(Value::Object(networking)) = spec.remove("networking") {
        let used = ["port", "tls"];
        let left = networking.into_iter().filter(|(field, _)| !used.contains(&field.as_str()));
        name("networking", left, &mut without_effect);
    }
    let known: Vec<&str> = PLANNED.into_iter().chain(["workload"]).collect();
    let mut others = keep(spec, &known);
    others.remove("externalProviders");
    without_effect
        .extend(others.into_iter().filter(|(_, value)| is_asked(value)).map(|(key, _)| key));
    if !without_effect.is_empty() {
        findings.warning(
            &FieldPath::spec(),
            Reason::Ignored,
            format!("no effect without a cluster: {}", without_effect.join(", ")),
            "nothing to do",
        );
    }
}

/// Takes everything out of a mapping but these fields.
fn keep(map: &mut Map<String, Value>, fields: &[&str]) -> Map<String, Value> {
    let (kept, left) =
        std::mem::take(map).into_iter().partition(|(field, _)| fields.contains(&field.as_str()));
    *map = kept;
    left
}

fn name(section: &str, left: impl IntoIterator<Item = (String, Value)>, names: &mut Vec<String>) {
    let asked = left.into_iter().filter(|(_, value)| is_asked(value));
    names.extend(asked.map(|(field, _)| format!("{section}.{field}")));
}

/// Whether a field asks for more than there is without it: one replica or worker, or nothing.
fn is_asked(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Number(number) => number.as_i64() != Some(1),
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn adapted(spec: &Value, endpoints: &[(&str, &str)]) -> Adapted {
        let endpoints = endpoints.iter().map(|(id, url)| ((*id).to_owned(), (*url).to_owned()));
        adapt(&json!({"metadata": {"name": "demo"}, "spec": spec}), &endpoints.collect())
    }

    fn messages(findings: &[llsd_plan::problems::Problem]) -> Vec<String> {
        findings.iter().map(|found| format!("{}: {}", found.path, found.message)).collect()
    }

    #[test]
    fn an_endpoint_is_replaced_by_the_id_that_a_provider_has_or_gets() {
        let spec = json!({"providers": {
            "inference": [{"provider": "remote::vllm", "host": "a"}, {"id": "second", "provider": "vllm"}],
            "vectorIo": {"provider": "qdrant", "endpoint": "http://qdrant:6333"},
        }});
        let found =
            adapted(&spec, &[("vllm", "http://localhost:1"), ("qdrant", "http://localhost:2")]);
        assert_eq!(messages(&found.findings.problems), Vec::<String>::new());
        let providers = &found.object["spec"]["providers"];
        assert_eq!(
            providers["inference"][0],
            json!({"provider": "remote::vllm", "endpoint": "http://localhost:1"})
        );
        assert_eq!(providers["inference"][1], json!({"id": "second", "provider": "vllm"}));
        assert_eq!(providers["vectorIo"]["endpoint"], "http://localhost:2");
    }

    #[test]
    fn an_unknown_id_is_refused_with_those_that_there_are() {
        let spec = json!({"providers": {"inference": {"provider": "vllm"}}});
        let found = adapted(&spec, &[("vlm", "http://localhost:1")]).findings.problems;
        assert!(found[0].message.contains("`vlm`"), "{found:?}");
        assert!(found[0].remedy.contains("vllm"), "{found:?}");
        let none = adapted(&json!({}), &[("vllm", "http://localhost:1")]).findings.problems;
        assert!(none[0].remedy.contains(".env"), "{none:?}");
    }

    #[test]
    fn what_only_a_cluster_has_is_left_out_and_named() {
        let spec = json!({
            "distribution": {"name": "starter"},
            "storage": {"kv": {"type": "redis", "endpoint": "redis:6379"}, "sql": {"type": "sqlite"}},
            "networking": {
                "port": 9000, "tls": {"enabled": true, "secretName": "x", "caBundle": {}},
                "expose": {"hostname": "x"}, "allowedFrom": {},
            },
            "monitoring": {"otlp": {"endpoint": "http://otel"}},
            "workload": {
                "replicas": 2, "workers": 1, "autoscaling": {"maxReplicas": 3}, "storage": {"size": "1Gi"},
                "overrides": {
                    "env": [{"name": "A", "value": "b"}], "envFrom": [{}], "nodeSelector": {"a": "b"},
                    "volumeMounts": [{"name": "c", "mountPath": "/c"}],
                },
            },
        });
        let found = adapted(&spec, &[]);
        let expected = json!({
            "distribution": {"name": "starter"},
            "workload": {"overrides": {"env": [{"name": "A", "value": "b"}]}},
        });
        assert_eq!(found.object["spec"], expected);
        assert_eq!(found.findings.problems, []);
        let expected = [
            "spec.storage.kv: the cluster's database is not used: state is kept in SQLite in the data folder",
            "spec.networking.tls.enabled: not served on loopback",
            "spec.networking.tls.caBundle: the server trusts the authorities of this machine",
            "spec.workload.overrides.envFrom: Secrets and ConfigMaps are not read",
            "spec.workload.overrides.volumeMounts: nothing is mounted",
            "spec: no effect without a cluster: workload.overrides.nodeSelector, workload.replicas, \
             workload.autoscaling, networking.expose, monitoring",
        ];
        assert_eq!(messages(&found.findings.warnings), expected);
    }

    #[test]
    fn variables_that_have_no_effect_are_named_with_what_has() {
        let variables =
            ["LLS_PORT", "A", "SSL_CERT_FILE", "LLS_WORKERS"].map(|name| json!({"name": name}));
        let found = adapted(&json!({"workload": {"overrides": {"env": variables}}}), &[]).findings;
        let expected = [
            "spec.workload.overrides.env[0]: LLS_PORT has no effect: llsd sets it itself",
            "spec.workload.overrides.env[2]: SSL_CERT_FILE has no effect: it names a path of a pod",
            "spec.workload.overrides.env[3]: LLS_WORKERS has no effect: llsd sets it itself",
        ];
        assert_eq!(messages(&found.warnings), expected);
        let remedies: Vec<&str> = found.warnings.iter().map(|it| it.remedy.as_str()).collect();
        let expected = [
            "choose another port with --port",
            "set it in the .env file, for this machine",
            "nothing to do",
        ];
        assert_eq!(remedies, expected);
    }

    #[test]
    fn what_needs_images_or_the_api_server_is_refused() {
        let spec = json!({
            "externalProviders": {"inference": [{"providerId": "a", "image": "b"}]},
            "access": {"authentication": {"kubernetes": {}}},
        });
        let paths: Vec<String> =
            adapted(&spec, &[]).findings.problems.iter().map(|it| it.path.to_string()).collect();
        assert_eq!(paths, ["spec.externalProviders", "spec.access.authentication.kubernetes"]);
    }
}
