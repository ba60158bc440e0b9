//! A status that is there already: v0.9's, somebody else's, or nonsense.

use llsd_plan::status::ServerAnswer;
use rstest::rstest;
use serde_json::{Value, json};

use crate::scene::{Scene, answering, without_the_secret};

/// As v0.9 leaves it.
fn v0_9() -> Value {
    let condition = |name: &str, message: &str| {
        json!({
            "type": name, "status": "True", "reason": name, "message": message,
            "lastTransitionTime": "2025-12-24T18:00:00Z",
        })
    };
    json!({
        "phase": "Ready",
        "version": {
            "operatorVersion": "1.2.3", "llamaStackServerVersion": "0.7.3",
            "lastUpdated": "2025-12-24T18:00:00Z",
        },
        "distributionConfig": {
            "activeDistribution": "starter",
            "availableDistributions": { "starter": "starter:0.2.12" },
            "providers": [{
                "api": "inference", "provider_id": "vllm", "provider_type": "remote::vllm",
                "config": { "api_token": "in-the-clear" },
                "health": { "status": "OK", "message": "" },
            }],
        },
        "conditions": [
            condition("DeploymentReady", "Deployment is ready"),
            condition("HealthCheck", "Health check passed"),
            condition("ServiceReady", "Service is ready"),
        ],
        "availableReplicas": 1,
        "serviceURL": "http://my-llama-service.ai.svc.cluster.local:8321",
    })
}

fn adopted() -> Scene {
    Scene::vllm().with(|scene| scene.resource["status"] = v0_9())
}

#[test]
fn a_status_of_v0_9_keeps_its_times_and_gains_generations() {
    let status = adopted().status();
    let conditions = status.conditions.unwrap();
    assert!(conditions.iter().all(|condition| condition.observed_generation == Some(3)));
    let since = |name: &str| {
        let known = conditions.iter().find(|condition| condition.type_ == name).unwrap();
        known.last_transition_time.0.to_string()
    };
    for old in ["DeploymentReady", "HealthCheck", "ServiceReady"] {
        assert_eq!(since(old), "2025-12-24T18:00:00Z");
    }
    for new in ["Ready", "ConfigGenerated", "Available"] {
        assert_eq!(since(new), "2026-02-02T12:00:00Z");
    }
    let updated = status.version.unwrap().last_updated.unwrap().0;
    assert_eq!(updated.to_string(), "2025-12-24T18:00:00Z");
}

#[test]
fn a_server_that_v0_9_called_ready_does_not_turn_ready() {
    assert!(!adopted().events().contains(&"Ready"));
    assert!(Scene::vllm().events().contains(&"Ready"));
}

#[test]
fn secrets_that_v0_9_copied_from_the_server_do_not_stay() {
    let unreached = adopted().with(|scene| scene.server = ServerAnswer::NotAsked);
    let reached = adopted().with(|scene| scene.server = answering(&[("inference", "vllm")]));
    for (scene, planned) in [
        (unreached.clone(), true),
        (unreached.with_facts(without_the_secret()), false),
        (reached.clone(), true),
        (reached.with_facts(without_the_secret()), false),
    ] {
        let report = scene.report();
        assert!(!format!("{report:?}").contains("in-the-clear"), "{report:?}");
        let providers = report.status.distribution_config.unwrap().providers.unwrap();
        assert_eq!(providers[0].config != json!({}), planned);
    }
}

#[test]
fn conditions_of_others_stay_behind_the_own_ones() {
    let foreign = json!({
        "type": "example.org/Approved", "status": "True", "reason": "Checked", "message": "by hand",
        "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1,
    });
    let scene = Scene::vllm().with(|scene| {
        scene.resource["status"] = json!({ "conditions": [foreign.clone(), "nonsense"] });
    });
    let conditions = serde_json::to_value(scene.status().conditions).unwrap();
    let conditions = conditions.as_array().unwrap();
    assert_eq!(conditions.last(), Some(&foreign));
    assert_eq!(conditions[0]["type"], "Ready");
}

#[rstest]
#[case(json!("Ready"))]
#[case(json!([1, 2]))]
#[case(json!({ "conditions": "all good", "phase": "Splendid", "version": 3, "distributionConfig": [] }))]
#[case(json!({ "conditions": [{ "type": "Ready" }, null], "configGeneration": "yes", "serviceURL": 1 }))]
fn a_malformed_status_counts_as_none(#[case] status: Value) {
    let scene = Scene::vllm().with(|scene| scene.resource["status"] = status);
    assert_eq!(scene.report(), Scene::vllm().report());
}
