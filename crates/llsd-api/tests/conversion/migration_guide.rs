//! The "before" documents of the migration guide, as v1alpha2 sees them without anybody migrating
//! anything: every field in its new place, the environment still the environment.

use llsd_api::conversion::{down, up};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{assert_carries_nothing, v1alpha1};

#[rstest]
#[case::quick_comparison(
    json!({
        "replicas": 1,
        "server": {
            "distribution": {"name": "starter"},
            "containerSpec": {
                "name": "llama-stack",
                "port": 8321,
                "env": [
                    {"name": "OLLAMA_INFERENCE_MODEL", "value": "llama3.2:1b"},
                    {"name": "OLLAMA_URL", "value": "http://ollama:11434"},
                ],
            },
            "storage": {"size": "20Gi", "mountPath": "/home/lls/.lls"},
        },
    }),
    json!({
        "distribution": {"name": "starter"},
        "networking": {"port": 8321},
        "workload": {
            "replicas": 1,
            "storage": {"size": "20Gi", "mountPath": "/home/lls/.lls", "deletionPolicy": "Retain"},
            "overrides": {
                "env": [
                    {"name": "OLLAMA_INFERENCE_MODEL", "value": "llama3.2:1b"},
                    {"name": "OLLAMA_URL", "value": "http://ollama:11434"},
                ],
            },
        },
    })
)]
#[case::api_key(
    json!({
        "replicas": 1,
        "server": {
            "distribution": {"name": "starter"},
            "containerSpec": {
                "name": "llama-stack",
                "env": [{
                    "name": "VLLM_API_KEY",
                    "valueFrom": {"secretKeyRef": {"name": "vllm-secret", "key": "api-key"}},
                }],
            },
        },
    }),
    json!({
        "distribution": {"name": "starter"},
        "workload": {
            "replicas": 1,
            "overrides": {
                "env": [{
                    "name": "VLLM_API_KEY",
                    "valueFrom": {"secretKeyRef": {"name": "vllm-secret", "key": "api-key"}},
                }],
            },
        },
    })
)]
#[case::config_map_override(
    json!({
        "replicas": 1,
        "server": {
            "distribution": {"name": "starter"},
            "userConfig": {"configMapName": "llama-stack-config"},
        },
    }),
    json!({
        "distribution": {"name": "starter"},
        "overrideConfig": {"configMapName": "llama-stack-config"},
        "workload": {"replicas": 1},
    })
)]
#[case::network_policy_and_tls(
    json!({
        "replicas": 1,
        "server": {
            "distribution": {"name": "starter"},
            "containerSpec": {"name": "llama-stack", "port": 9000},
            "tlsConfig": {"caBundle": {"configMapName": "custom-ca-bundle"}},
        },
        "network": {"exposeRoute": true, "allowedFrom": {"namespaces": ["monitoring"]}},
    }),
    json!({
        "distribution": {"name": "starter"},
        "networking": {
            "port": 9000,
            "expose": true,
            "tls": {"caBundle": {"configMapName": "custom-ca-bundle"}},
            "allowedFrom": {"namespaces": ["monitoring"]},
        },
        "workload": {"replicas": 1},
    })
)]
#[case::full_featured(
    json!({
        "replicas": 2,
        "server": {
            "distribution": {"name": "starter"},
            "workers": 4,
            "containerSpec": {
                "name": "llama-stack",
                "port": 8321,
                "env": [{"name": "OLLAMA_URL", "value": "http://ollama:11434"}],
            },
            "storage": {"size": "20Gi"},
            "podOverrides": {"serviceAccountName": "custom-sa"},
            "autoscaling": {"minReplicas": 2, "maxReplicas": 10, "targetCPUUtilizationPercentage": 75},
            "podDisruptionBudget": {"minAvailable": 1},
        },
    }),
    json!({
        "distribution": {"name": "starter"},
        "networking": {"port": 8321},
        "workload": {
            "replicas": 2,
            "workers": 4,
            "storage": {"size": "20Gi", "deletionPolicy": "Retain"},
            "overrides": {
                "serviceAccountName": "custom-sa",
                "env": [{"name": "OLLAMA_URL", "value": "http://ollama:11434"}],
            },
            "autoscaling": {"minReplicas": 2, "maxReplicas": 10, "targetCPUUtilizationPercentage": 75},
            "podDisruptionBudget": {"minAvailable": 1},
        },
    })
)]
fn a_before_document_is_shown_in_the_new_places(#[case] before: Value, #[case] after: Value) {
    let old = v1alpha1(before);
    let new = up(old.clone());
    assert_eq!(new["spec"], after);
    assert_carries_nothing(&new);
    let back = down(new);
    assert_eq!(back, old);
    assert_carries_nothing(&back);
}
