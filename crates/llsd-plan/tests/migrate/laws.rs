//! What holds for every resource: a sound one stays sound, and where no variable is turned the
//! operator would apply the very same objects.

use llsd_api::conversion::up;
use llsd_plan::migrate::{DecisionKind, migrate, value_at};
use llsd_plan::validate::validate;
use proptest::prelude::*;
use proptest::sample::subsequence;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

use crate::{planned, text, with_env};

/// Fields of v1alpha1, each with a value that is worth a thought.
fn fields() -> Vec<(&'static str, Value)> {
    vec![
        ("/spec/replicas", json!(0)),
        ("/spec/replicas", json!(3)),
        ("/spec/network", json!({})),
        ("/spec/network/exposeRoute", json!(true)),
        ("/spec/network/exposeRoute", json!(null)),
        ("/spec/network/allowedFrom", json!({"namespaces": ["a"], "labels": ["b"]})),
        ("/spec/server/workers", json!(2)),
        ("/spec/server/containerSpec/name", json!("own")),
        ("/spec/server/containerSpec/name", json!("llama-stack")),
        ("/spec/server/containerSpec/port", json!(9000)),
        ("/spec/server/containerSpec/port", json!(null)),
        ("/spec/server/containerSpec/resources", json!({"requests": {"cpu": "1"}})),
        ("/spec/server/containerSpec/env", json!([{"name": "LOG_LEVEL", "value": "debug"}])),
        ("/spec/server/containerSpec/env", json!([])),
        ("/spec/server/containerSpec/command", json!(["run"])),
        ("/spec/server/podOverrides", json!({})),
        ("/spec/server/podOverrides/serviceAccountName", json!("robot")),
        ("/spec/server/podOverrides/terminationGracePeriodSeconds", json!(5)),
        ("/spec/server/podDisruptionBudget", json!({})),
        ("/spec/server/podDisruptionBudget", json!({"minAvailable": "50%"})),
        (
            "/spec/server/autoscaling",
            json!({"maxReplicas": 4, "targetCPUUtilizationPercentage": 70}),
        ),
        ("/spec/server/storage", json!({})),
        ("/spec/server/storage/size", json!("3Gi")),
        ("/spec/server/storage/mountPath", json!("/data")),
        ("/spec/server/userConfig", json!({"configMapName": "own", "configMapNamespace": "here"})),
        ("/spec/server/userConfig", json!({"configMapName": "own", "configMapNamespace": "there"})),
        ("/spec/server/tlsConfig", json!({})),
        (
            "/spec/server/tlsConfig/caBundle",
            json!({"configMapName": "roots", "configMapKeys": ["a.crt"]}),
        ),
        ("/metadata/annotations", json!({})),
        ("/metadata/annotations", json!({"llamastack.io/refresh": "1"})),
    ]
}

fn set(object: &mut Value, path: &str, value: Value) {
    let (holder, key) = path.rsplit_once('/').unwrap();
    let holder = holder.split('/').skip(1).fold(object, |value, key| {
        if !value[key].is_object() {
            value[key] = json!({});
        }
        &mut value[key]
    });
    holder[key] = value;
}

#[test]
fn a_sound_resource_stays_sound_and_is_applied_alike() {
    let config = Config { cases: 250, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let all = fields();
    let count = all.len();
    let result = runner.run(&subsequence(all, 0..=count), |fields| {
        let mut source = with_env("starter", &json!([text("UNREAD", "x")]));
        for (path, value) in fields {
            set(&mut source, path, value);
        }
        prop_assert!(validate(&source).problems.is_empty());
        let migrated = migrate(&source);
        let found = validate(&migrated.object);
        prop_assert!(found.problems.is_empty(), "{found:#?}\n{:#}", migrated.object);
        let (before, after) = (planned(&up(source)), planned(&migrated.object));
        prop_assert_eq!(before.objects.manifests(), after.objects.manifests());
        prop_assert!(
            migrated.decisions.iter().all(|decision| decision.kind != DecisionKind::Turned)
        );
        for step in &migrated.moves {
            prop_assert!(value_at(&migrated.object, &step.to).is_some(), "{}", step.to);
        }
        prop_assert_eq!(migrate(&migrated.object).object, migrated.object);
        Ok(())
    });
    result.unwrap();
}
