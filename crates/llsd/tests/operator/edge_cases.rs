//! The edge cases of the specification, each as it is written.

use std::time::{Duration, Instant};

use serde_json::json;

use llsd_testbed::namespace::condition;
use llsd_testbed::registry::{configuration, labelled};
use llsd_testbed::story::{entry, vllm, vllm_with_key};

use super::user_stories::{exposed, generated, is_exposed, with_models, world};

#[tokio::test]
async fn ec_1_settings_arrive_in_the_providers_config() {
    let Some(world) = world().await else { return };
    let namespace = world.namespace().await;
    let mut spec = vllm();
    spec["providers"]["inference"]["settings"] = json!({"max_tokens": 8192});
    let config = generated(&namespace, spec).await;
    let provider = entry(&config["providers"]["inference"], "provider_id", "vllm");
    assert_eq!(provider["config"]["max_tokens"], 8192);
}

#[tokio::test]
async fn ec_2_a_secret_that_does_not_exist_is_named_in_the_status() {
    let Some(world) = world().await else { return };
    let namespace = world.namespace().await;
    namespace.distribution("demo", vllm_with_key()).await;
    let stopped =
        namespace.until_condition("demo", "SecretsResolved", "False", "SecretNotFound").await;
    let said = format!(
        "spec.providers.inference.apiKey: Secret not found: vllm-creds (namespace {}) \
         (create the Secret, or name one that exists)",
        namespace.name
    );
    assert_eq!(condition(&stopped, "SecretsResolved")["message"], said);
    assert_eq!(condition(&stopped, "Ready")["reason"], "SecretNotFound");
    assert!(namespace.get("Deployment", "demo").await.is_none());
    namespace.until_event("demo", "SecretResolutionFailed", "Secret not found: vllm-creds").await;
    // Secrets at rest are read every 45 s; one that something waits for sooner.
    let begun = Instant::now();
    for (data, reason) in [
        (json!({"other": "x"}), "SecretKeyNotFound"),
        (json!({"other": "x", "token": ""}), "SecretValueRejected"),
        (json!({"other": "x", "token": "true"}), "SecretValueRejected"),
    ] {
        namespace.secret("vllm-creds", data).await;
        namespace.until_condition("demo", "SecretsResolved", "False", reason).await;
    }
    namespace.secret("vllm-creds", json!({"token": "sk-a-key"})).await;
    namespace.until_ready("demo").await;
    assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn ec_3_an_empty_expose_object_means_true() {
    let Some(world) = world().await else { return };
    let namespace = world.namespace().await;
    namespace.distribution("demo", exposed(&json!({}))).await;
    is_exposed(&namespace, &format!("demo-{}.apps.example.com", namespace.name)).await;
}

#[tokio::test]
async fn ec_4_a_disabled_api_wins_over_its_providers_with_a_warning() {
    let Some(world) = world().await else { return };
    let namespace = world.namespace().await;
    let mut spec = vllm_with_key();
    spec["disabled"] = json!(["inference"]);
    // Nothing is asked of the Secret, which does not exist.
    let config = generated(&namespace, spec).await;
    assert_eq!(config["providers"].get("inference"), None);
    let apis = config["apis"].as_array().unwrap();
    assert!(!apis.contains(&json!("inference")), "{apis:?}");
    let ready = namespace.until_ready("demo").await;
    let said = condition(&ready, "ConfigGenerated")["message"].as_str().unwrap().to_owned();
    assert!(said.contains("inference is disabled, so its providers are ignored"), "{said}");
    namespace.until_event("demo", "DisabledProviderIgnored", "inference is disabled").await;
}

#[tokio::test]
async fn ec_5_a_model_of_an_unknown_provider_is_refused_with_the_ids_there_are() {
    let Some(world) = world().await else { return };
    let namespace = world.namespace().await;
    let models = json!([{"name": "llama3.2-70b", "provider": "vllm-primary"}]);
    namespace.distribution("demo", with_models(&models)).await;
    let stopped = namespace
        .until_condition("demo", "ConfigGenerated", "False", "ConfigGenerationFailed")
        .await;
    let said = condition(&stopped, "ConfigGenerated")["message"].as_str().unwrap();
    let begins = "spec.resources.models[0].provider: there is no inference provider \
                  `vllm-primary` (use one of: ";
    assert!(said.starts_with(begins), "{said}");
    assert!(said.contains("primary") && said.contains("fallback"), "{said}");
    assert!(namespace.get("Deployment", "demo").await.is_none());
}

#[tokio::test]
async fn ec_6_a_configuration_of_an_unsupported_version_is_refused() {
    let Some(world) = world().await else { return };
    let namespace = world.namespace().await;
    let image = labelled(&configuration().replacen("version: 2", "version: 3", 1));
    world.registry.push("stack/newer", "1", &image).await.unwrap();
    let mut spec = vllm();
    spec["distribution"] = json!({"image": format!("{}/stack/newer:1", world.registry.host())});
    namespace.distribution("demo", spec).await;
    let stopped = namespace
        .until_condition("demo", "ConfigGenerated", "False", "UnsupportedConfigVersion")
        .await;
    let said = condition(&stopped, "ConfigGenerated")["message"].as_str().unwrap();
    let exactly = "Unsupported config.yaml version 3. Supported versions: 1, 2";
    assert!(said.contains(exactly), "{said}");
    assert!(namespace.get("Deployment", "demo").await.is_none());
}
