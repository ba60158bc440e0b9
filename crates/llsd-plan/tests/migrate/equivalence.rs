//! Every variable of every embedded configuration: turned or left, the server runs with the same.

use std::collections::BTreeSet;

use llsd_api::conversion::up;
use llsd_plan::migrate::{DecisionKind, migrate};
use llsd_plan::releases::Distribution;
use proptest::prelude::*;
use proptest::sample::subsequence;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::server::effect;
use crate::{planned, secret, text, told, with_env};

/// All variables that a configuration reads.
fn variables(distribution: &Distribution) -> Vec<String> {
    let references = distribution.base().split("${env.").skip(1);
    let names = references.map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_uppercase() && !c.is_ascii_digit() && c != '_');
        rest[..end.unwrap()].to_owned()
    });
    names.collect::<BTreeSet<String>>().into_iter().collect()
}

/// A value that the field of such a variable takes, and that has a path where it is a URL.
fn value(name: &str) -> &'static str {
    match name {
        name if name.ends_with("_URL") || name.ends_with("_BASE") => "http://backend:9000/v1",
        name if name.ends_with("_PORT") => "6543",
        name if name.ends_with("_TOKENS") || name.ends_with("_SIZE") || name.ends_with("_LEN") => {
            "7"
        }
        name if name.ends_with("_VERIFY") => "false",
        _ => "some/text",
    }
}

fn same_effect(distribution: &str, env: &[Value]) -> Vec<String> {
    let source = with_env(distribution, &json!(env));
    let migrated = migrate(&source);
    let before = effect(distribution, &planned(&up(source)));
    let after = effect(distribution, &planned(&migrated.object));
    assert_eq!(before, after, "{env:#?}\n{:#}", migrated.object);
    told(&migrated, DecisionKind::Turned)
}

/// What the release cannot start without, so that both sides can be planned.
fn needed(distribution: &str) -> Vec<Value> {
    match distribution {
        "remote-vllm" => vec![text("INFERENCE_MODEL", "some/model")],
        _ => Vec::new(),
    }
}

#[test]
fn any_single_variable_of_any_distribution_has_the_same_effect_after() {
    for (name, distribution) in Distribution::all() {
        for variable in variables(distribution) {
            for given in [text(&variable, value(&variable)), secret(&variable, "kept", "here")] {
                let mut env = needed(name);
                env.retain(|other| other["name"] != given["name"]);
                env.push(given);
                same_effect(name, &env);
            }
        }
    }
}

#[test]
fn any_set_of_variables_of_any_distribution_has_the_same_effect_after() {
    for (name, distribution) in Distribution::all() {
        let all = variables(distribution);
        let count = all.len();
        let chosen = (subsequence(all, 0..=count), prop::collection::vec(any::<bool>(), count));
        let mut runner = TestRunner::new_with_rng(
            Config { cases: 40, failure_persistence: None, ..Config::default() },
            proptest::test_runner::TestRng::deterministic_rng(
                proptest::test_runner::RngAlgorithm::ChaCha,
            ),
        );
        let mut turned = BTreeSet::new();
        let seen = std::cell::RefCell::new(&mut turned);
        let result = runner.run(&chosen, |(names, secrets)| {
            let mut env = needed(name);
            for (variable, from_secret) in names.iter().zip(secrets) {
                env.retain(|other| other["name"] != variable.as_str());
                env.push(if from_secret {
                    secret(variable, "kept", "here")
                } else {
                    text(variable, value(variable))
                });
            }
            seen.borrow_mut().extend(same_effect(name, &env));
            Ok(())
        });
        result.unwrap();
        assert!(!turned.is_empty(), "{name}");
    }
}
