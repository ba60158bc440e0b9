//! What must hold for every plan, whatever the resource: the order of keys does not matter, every
//! secret has exactly one variable, and no secret value is anywhere but in the Secret that is owned.

use std::collections::BTreeMap;

use llsd_cases::samples::{facts_of, samples};
use llsd_plan::config::wiring::VariableValue;
use llsd_plan::facts::{Facts, SecretFacts, SecretKeyFacts};
use llsd_plan::plan::{Plan, Planning, parse_and_plan};
use llsd_plan::values::connection::{Connection, Form};
use llsd_yaml::document;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};

fn planned(resource: &Value, facts: &Facts) -> Option<Box<Plan>> {
    match parse_and_plan(resource, facts) {
        Planning::Planned(plan) => Some(plan),
        Planning::Unavailable { .. } => None,
        Planning::Refused(findings) => panic!("{findings:#?}"),
    }
}

/// All bytes that would leave the planner.
fn bytes(plan: &Plan) -> String {
    let config = plan.generated.as_ref().map(|generated| generated.text.clone());
    format!("{}\n{config:?}\n{:?}", Value::Array(plan.objects.manifests()), plan.warnings)
}

/// The same value with the keys of every mapping in another order.
fn shuffled(value: &Value, seed: &mut u64) -> Value {
    match value {
        Value::Array(items) => items.iter().map(|item| shuffled(item, seed)).collect(),
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            for index in (1..fields.len()).rev() {
                *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                fields.swap(index, usize::try_from(*seed >> 33).unwrap() % (index + 1));
            }
            let fields =
                fields.into_iter().map(|(key, value)| (key.clone(), shuffled(value, seed)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        scalar => scalar.clone(),
    }
}

#[test]
fn the_order_of_keys_in_the_resource_changes_no_byte() {
    for (name, resource) in samples() {
        let Some(expected) = planned(&resource, &facts_of(&resource)) else { continue };
        for seed in 1..6 {
            let other = planned(&shuffled(&resource, &mut { seed }), &facts_of(&resource)).unwrap();
            assert_eq!(bytes(&other), bytes(&expected), "{name}");
        }
    }
}

#[test]
fn every_secret_reference_has_exactly_one_variable() {
    let mut seen = 0;
    for (name, resource) in samples() {
        let Some(plan) = planned(&resource, &facts_of(&resource)) else { continue };
        let Some(generated) = &plan.generated else { continue };
        let mut variables: BTreeMap<&str, usize> = BTreeMap::new();
        for variable in &plan.environment {
            if matches!(variable.value, VariableValue::Secret(_)) {
                *variables.entry(&variable.name).or_default() += 1;
            }
        }
        for (variable, times) in &variables {
            assert_eq!(*times, 1, "{name}: {variable}");
            assert!(generated.text.contains(&format!("${{env.{variable}")), "{name}: {variable}");
        }
        for reference in generated.text.split("${env.LLSD_").skip(1) {
            let end = reference.find([':', '}']).unwrap();
            let variable = format!("LLSD_{}", &reference[..end]);
            assert!(variables.contains_key(variable.as_str()), "{name}: {variable}");
            seen += 1;
        }
    }
    assert!(seen > 10, "{seen}");
}

#[test]
fn the_password_of_a_connection_string_is_in_the_owned_secret_alone() {
    let resource = json!({
        "apiVersion": "llamastack.io/v1alpha2",
        "kind": "LlamaStackDistribution",
        "metadata": {"name": "state"},
        "spec": {
            "distribution": {"name": "starter"},
            "storage": {"sql": {"type": "postgres", "connectionString": {"name": "pg", "key": "url"}}},
        },
    });
    TestRunner::default()
        .run(&"[a-zA-Z0-9]{12,20}", |password| {
            let connection = Connection::parse(&format!("postgresql://u:{password}@db/x"));
            let key = SecretKeyFacts { connection: Some(connection), ..SecretKeyFacts::default() };
            let secret =
                SecretFacts { keys: [("url".to_owned(), key)].into(), ..SecretFacts::default() };
            let facts =
                Facts { secrets: [("pg".to_owned(), secret)].into(), ..facts_of(&resource) };
            let plan = planned(&resource, &facts).unwrap();
            let encoded = Connection::parse(&format!("postgresql://u:{password}@db/x"))
                .map(|connection| connection.values(Form::Encoded).unwrap()["password"].clone())
                .unwrap();
            let mut inside = 0;
            for object in plan.objects.manifests() {
                let text = object.to_string();
                prop_assert!(!text.contains(&password));
                if object["kind"] == "Secret" {
                    inside += 1;
                } else {
                    prop_assert!(!text.contains(&encoded));
                }
            }
            prop_assert_eq!(inside, 1);
            let printed = format!("{facts:?} {:?} {:?}", plan.generated, plan.warnings);
            prop_assert!(!printed.contains(&password));
            prop_assert!(!serde_json::to_string(&facts).unwrap().contains(&password));
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_configuration_that_no_config_map_can_hold_is_refused() {
    let mut resource = samples().swap_remove(0).1;
    resource["spec"] = json!({
        "distribution": {"name": "starter"},
        "providers": {"inference": {
            "provider": "vllm",
            "endpoint": "http://vllm:8000",
            "settings": {"network": "x".repeat(1 << 20)},
        }},
    });
    let Planning::Refused(findings) = parse_and_plan(&resource, &facts_of(&resource)) else {
        panic!("it is planned")
    };
    assert!(findings.problems[0].message.contains("a ConfigMap holds 1 MiB"), "{findings:?}");
}

/// A bound that only a mistake can break; `cargo bench` has the figures.
#[test]
fn planning_the_starter_takes_no_more_than_seconds() {
    for (name, resource) in samples() {
        let start = std::time::Instant::now();
        drop(parse_and_plan(&resource, &facts_of(&resource)));
        assert!(start.elapsed().as_secs() < 5, "{name}: {:?}", start.elapsed());
    }
}

#[test]
fn any_text_in_a_resource_reads_back_as_it_was_written() {
    TestRunner::default()
        .run(&(any::<String>(), any::<String>(), any::<f64>(), any::<i64>()), |(key, text, float, int)| {
            let float = if float.is_finite() { float } else { 0.5 };
            let value = json!({"k": {key.clone(): text}, "f": float, "i": int, "l": [[], {}, null, true]});
            let node = document::Node::from_value(value.clone(), &document::Origin::Base);
            prop_assert_eq!(document::read(&document::text(&node)).unwrap(), value);
            Ok(())
        })
        .unwrap();
}
