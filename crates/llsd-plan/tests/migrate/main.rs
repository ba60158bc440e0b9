//! Migration keeps its promise: what a variable did before, a field does after, and nothing else
//! changes.

mod equivalence;
mod fields;
mod laws;
mod ogx;
mod server;
mod variables;

use llsd_plan::facts::Facts;
use llsd_plan::migrate::{DecisionKind, Migrated, migrate};
use llsd_plan::plan::{Plan, Planning, parse_and_plan};
use serde_json::{Value, json};

/// A v1alpha1 resource of a distribution with these variables.
fn with_env(distribution: &str, env: &Value) -> Value {
    json!({
        "apiVersion": "llamastack.io/v1alpha1",
        "kind": "LlamaStackDistribution",
        "metadata": {"name": "demo", "namespace": "here"},
        "spec": {"server": {
            "distribution": {"name": distribution},
            "containerSpec": {"env": env},
        }},
    })
}

fn text(name: &str, value: &str) -> Value {
    json!({"name": name, "value": value})
}

fn secret(name: &str, secret: &str, key: &str) -> Value {
    json!({"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}})
}

fn planned(object: &Value) -> Box<Plan> {
    match parse_and_plan(object, &Facts::default()) {
        Planning::Planned(plan) => plan,
        other => panic!("{other:#?}\n{object:#}"),
    }
}

/// The messages of a kind.
fn told(migrated: &Migrated, kind: DecisionKind) -> Vec<String> {
    let of_kind = migrated.decisions.iter().filter(|decision| decision.kind == kind);
    of_kind.map(|decision| format!("{}: {}", decision.path, decision.message)).collect()
}

fn spec_of(source: &Value) -> Value {
    migrate(source).object["spec"].clone()
}
