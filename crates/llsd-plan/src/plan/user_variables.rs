//! What the user's own variables refer to, in `overrides.env` and `overrides.envFrom`: whether it is
//! there, and a hash of it, by which pods are replaced when it changes.

use std::collections::BTreeMap;

use llsd_api::secret_ref::SecretKey;
use llsd_api::v1alpha2::LlamaStackDistributionSpec;

use super::secret_check::{self, By, SecretUse};
use crate::facts::Facts;
use crate::objects::ObjectKind;
use crate::plan::references::{self, Purpose, Reference};
use crate::problems::{Findings, Reason};
use crate::values::sha256;

/// Reports what a pod would wait for in vain, and what may not be read: without it nobody can tell
/// whether it has changed.
pub(super) fn check(
    spec: &LlamaStackDistributionSpec,
    facts: &Facts,
    namespace: &str,
    findings: &mut Findings,
) {
    for reference in user_references(spec) {
        match reference.kind {
            ObjectKind::Secret => check_secret(&reference, facts, namespace, findings),
            _ => check_config_map(&reference, facts, findings),
        }
    }
}

/// A hash over everything that the variables are made from, as far as it is known.
pub(super) fn hash(spec: &LlamaStackDistributionSpec, facts: &Facts) -> Option<String> {
    hash_of(&user_references(spec), facts)
}

/// The same of each object, such as `Secret/keys`.
pub(super) fn hash_by_object(
    spec: &LlamaStackDistributionSpec,
    facts: &Facts,
) -> BTreeMap<String, Option<String>> {
    let mut objects: BTreeMap<String, Vec<Reference>> = BTreeMap::new();
    for reference in user_references(spec) {
        let object = format!("{}/{}", reference.kind.name(), reference.name);
        objects.entry(object).or_default().push(reference);
    }
    let hashes = objects.into_iter();
    hashes.map(|(object, references)| (object, hash_of(&references, facts))).collect()
}

fn hash_of(references: &[Reference], facts: &Facts) -> Option<String> {
    let mut lines: Vec<String> =
        references.iter().flat_map(|reference| contents(reference, facts)).collect();
    lines.sort();
    lines.dedup();
    (!lines.is_empty()).then(|| sha256::hex(&lines.concat()))
}

fn user_references(spec: &LlamaStackDistributionSpec) -> Vec<Reference> {
    let mut references = references::walk(spec);
    references.retain(|reference| {
        matches!(reference.purpose, Purpose::Variable | Purpose::OptionalVariable)
    });
    references
}

fn check_secret(reference: &Reference, facts: &Facts, namespace: &str, findings: &mut Findings) {
    let Reference { name, key, path, .. } = reference;
    match key {
        Some(key) if reference.purpose.is_needed() => {
            let secret = SecretKey { name: name.clone(), key: key.clone() };
            let usage = SecretUse { secret, path: path.clone(), by: By::Other };
            secret_check::check(&[usage], facts, namespace, findings);
        }
        _ if secret_check::is_missing(name, facts) => {
            if reference.purpose.is_needed() {
                secret_check::missing(name, namespace, path, findings);
            }
        }
        _ => drop(secret_check::readable(name, path, facts, findings)),
    }
}

fn check_config_map(reference: &Reference, facts: &Facts, findings: &mut Findings) {
    let Reference { name, key, path, .. } = reference;
    let found = facts.config_maps.get(name);
    if let Some(why) = found.and_then(|found| found.forbidden.as_ref()) {
        findings.problem(
            path,
            Reason::ConfigMapForbidden,
            format!("ConfigMap {name} cannot be read: {why}"),
            "grant that right, or name another ConfigMap",
        );
        return;
    }
    if !reference.purpose.is_needed() {
        return;
    }
    if found.map_or(facts.complete, |found| found.missing) {
        findings.problem(
            path,
            Reason::ConfigMapNotFound,
            format!("ConfigMap not found: {name}"),
            "create the ConfigMap, or name one that exists",
        );
    } else if let (Some(found), Some(key)) = (found, key)
        && !found.data.contains_key(key)
    {
        findings.problem(
            path,
            Reason::ConfigMapNotFound,
            format!("ConfigMap {name} has no key `{key}`"),
            "add the key to the ConfigMap, or name one that it has",
        );
    }
}

/// One line for each value.
fn contents(reference: &Reference, facts: &Facts) -> Vec<String> {
    let Reference { name, kind, key: wanted, .. } = reference;
    let is_wanted = |key: &String| wanted.as_ref().is_none_or(|wanted| wanted == key);
    let what = kind.name();
    if *kind == ObjectKind::Secret {
        let keys = facts.secrets.get(name).into_iter().flat_map(|secret| &secret.keys);
        let keys = keys.filter(|(key, value)| is_wanted(key) && !value.hash.is_empty());
        return keys.map(|(key, value)| format!("{what} {name}/{key} {}\n", value.hash)).collect();
    }
    let keys = facts.config_maps.get(name).into_iter().flat_map(|found| &found.data);
    let keys = keys.filter(|(key, _)| is_wanted(key));
    keys.map(|(key, value)| format!("{what} {name}/{key} {}\n", sha256::hex(value))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn spec(optional: bool) -> LlamaStackDistributionSpec {
        serde_json::from_value(json!({
            "distribution": {"name": "starter"},
            "workload": {"overrides": {
                "env": [
                    {"name": "A", "valueFrom": {"secretKeyRef": {"name": "one", "key": "a", "optional": optional}}},
                    {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "map", "key": "b", "optional": optional}}},
                ],
                "envFrom": [
                    {"secretRef": {"name": "all", "optional": optional}},
                    {"configMapRef": {"name": "many", "optional": optional}},
                ],
            }},
        }))
        .unwrap()
    }

    fn facts(change: impl FnOnce(&mut Value)) -> Facts {
        let mut facts = json!({
            "complete": true,
            "secrets": {
                "one": {"keys": {"a": {"hash": "1"}, "other": {"hash": "2"}}},
                "all": {"keys": {"x": {"hash": "3"}}},
            },
            "configMaps": {"map": {"data": {"b": "4", "other": "5"}}, "many": {"data": {"y": "6"}}},
        });
        change(&mut facts);
        serde_json::from_value(facts).unwrap()
    }

    fn problems(optional: bool, facts: &Facts) -> Vec<String> {
        let mut findings = Findings::default();
        check(&spec(optional), facts, "here", &mut findings);
        findings.problems.iter().map(|problem| problem.message.clone()).collect()
    }

    #[test]
    fn every_value_counts_that_becomes_a_variable_and_no_other() {
        let before = hash(&spec(false), &facts(|_| ())).unwrap();
        for (place, counts) in [
            ("/secrets/one/keys/a/hash", true),
            ("/secrets/one/keys/other/hash", false),
            ("/secrets/all/keys/x/hash", true),
            ("/configMaps/map/data/b", true),
            ("/configMaps/map/data/other", false),
            ("/configMaps/many/data/y", true),
        ] {
            let changed = facts(|facts| *facts.pointer_mut(place).unwrap() = json!("new"));
            assert_eq!(hash(&spec(true), &changed).unwrap() != before, counts, "{place}");
        }
        let more = facts(|facts| facts["configMaps"]["many"]["data"]["z"] = json!("7"));
        assert_ne!(hash(&spec(false), &more).unwrap(), before, "a key that is new");
        assert_eq!(hash(&spec(false), &Facts::default()), None, "offline nothing is known");
    }

    #[test]
    fn it_is_known_from_which_object_a_value_changed() {
        let hashes = |facts: &Facts| hash_by_object(&spec(false), facts);
        let before = hashes(&facts(|_| ()));
        let objects: Vec<&str> = before.keys().map(String::as_str).collect();
        assert_eq!(objects, ["ConfigMap/many", "ConfigMap/map", "Secret/all", "Secret/one"]);
        let after =
            hashes(&facts(|facts| facts["secrets"]["all"]["keys"]["x"]["hash"] = json!("n")));
        let changed: Vec<&String> =
            before.keys().filter(|object| before[*object] != after[*object]).collect();
        assert_eq!(changed, ["Secret/all"]);
    }

    #[test]
    fn what_a_pod_cannot_start_without_is_named_while_it_is_missing() {
        let complete = facts(|_| ());
        assert!(problems(false, &complete).is_empty());
        let nothing = Facts { complete: true, ..Facts::default() };
        assert_eq!(
            problems(false, &nothing),
            [
                "Secret not found: one (namespace here)",
                "ConfigMap not found: map",
                "Secret not found: all (namespace here)",
                "ConfigMap not found: many",
            ]
        );
        assert!(problems(true, &nothing).is_empty());
        assert!(problems(false, &Facts::default()).is_empty(), "offline it is assumed to exist");
        let without_keys = facts(|facts| {
            facts["secrets"]["one"] = json!({});
            facts["configMaps"]["map"] = json!({});
        });
        assert_eq!(
            problems(false, &without_keys),
            ["Secret here/one has no key `a`", "ConfigMap map has no key `b`"]
        );
        let forbidden = facts(|facts| facts["secrets"]["all"] = json!({"forbidden": "no"}));
        assert_eq!(problems(true, &forbidden), ["Secret all cannot be read: no"]);
    }
}
