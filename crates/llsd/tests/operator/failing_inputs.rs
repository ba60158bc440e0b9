//! An input that fails never disturbs a running server: the Deployment and its pods stay as they are,
//! status and event say why, nothing is tried without end, and what is mended recovers by itself.

use std::time::Duration;

use llsd_testkit::{InUse, WhileUsed};
use serde_json::{Value, json};

use super::operator_with_registry::OperatorWithRegistry;
use llsd_testbed::namespace::DISTRIBUTION;
use llsd_testbed::namespace::{Namespace, condition};
use llsd_testbed::registry::{configuration, labelled};
use llsd_testbed::story::{vllm, vllm_with_key};
use llsd_testbed::test_operator::TestOperator;

/// A cluster whose operator reads Secrets again every other second.
async fn world() -> Option<InUse<OperatorWithRegistry>> {
    static WORLD: WhileUsed<OperatorWithRegistry> = WhileUsed::new();
    WORLD.get(async || OperatorWithRegistry::start(&["--secret-refresh", "2"]).await).await
}

/// What is expected of the resource `demo` while an input of it is broken.
struct Trouble<'a> {
    condition: &'a str,
    reason: &'a str,
    says: &'a str,
    event: &'a str,
}

/// Breaks an input of a running server, looks at what becomes of it, and mends the input again.
async fn survives(
    operator: &TestOperator,
    namespace: &Namespace<'_>,
    trouble: Trouble<'_>,
    break_it: impl AsyncFnOnce(),
    mend_it: impl AsyncFnOnce(),
) {
    namespace.until_ready("demo").await;
    let before = namespace.running("demo").await;
    assert_eq!(before.pods.len(), 1);
    break_it().await;
    let Trouble { condition: kind, reason, says, event } = trouble;
    let broken = namespace.until_condition("demo", kind, "False", reason).await;
    for kind in [kind, "Ready"] {
        let said = condition(&broken, kind)["message"].as_str().unwrap();
        assert!(said.contains(says), "{kind}: {said}");
    }
    assert_eq!(condition(&broken, "Ready")["status"], "False");
    assert_eq!(condition(&broken, "DeploymentUpdated")["reason"], "PlanningFailed");
    assert_eq!(condition(&broken, "Available")["status"], "True", "the server goes on");
    assert_eq!(broken["status"]["availableReplicas"], 1);
    namespace.until_event("demo", event, says).await;
    rests(operator, namespace).await;
    assert_eq!(namespace.running("demo").await, before, "the server is disturbed");
    mend_it().await;
    namespace.until_ready("demo").await;
}

/// The operator writes nothing here and asks little while an input stays broken.
pub async fn rests(operator: &TestOperator, namespace: &Namespace<'_>) {
    let audit = operator.cluster.audit();
    let mark = namespace.quiet(&operator.user).await;
    tokio::time::sleep(Duration::from_secs(4)).await;
    let requests = audit.requests_of(&operator.user).await.unwrap().since(mark);
    let requests = requests.only(|request| request.namespace == namespace.name);
    let asked = requests.except_watches().by_verb_and_resource();
    assert!(requests.writes().is_empty(), "{asked:?}");
    assert!(requests.except_watches().len() <= 6, "{asked:?}");
}

#[tokio::test]
async fn a_secret_that_is_deleted() {
    let Some(world) = world().await else { return };
    let namespace = world.operator.namespace("failing").await;
    let data = json!({"token": "sk-some-key"});
    namespace.secret("vllm-creds", data.clone()).await;
    namespace.distribution("demo", vllm_with_key()).await;
    namespace.until_ready("demo").await;
    let before = namespace.running("demo").await;
    let says = format!(
        "spec.providers.inference.apiKey: Secret not found: vllm-creds (namespace {})",
        namespace.name
    );
    let trouble = Trouble {
        condition: "SecretsResolved",
        reason: "SecretNotFound",
        says: &says,
        event: "SecretResolutionFailed",
    };
    let break_it = async || namespace.delete("Secret", "vllm-creds").await;
    let mend_it = async || namespace.secret("vllm-creds", data.clone()).await;
    survives(&world.operator, &namespace, trouble, break_it, mend_it).await;
    assert_eq!(namespace.running("demo").await, before, "the same key is no reason to restart");
}

#[tokio::test]
async fn a_key_that_is_taken_out_of_its_secret() {
    let Some(world) = world().await else { return };
    let namespace = world.operator.namespace("failing").await;
    let data = json!({"token": "sk-some-key", "other": "x"});
    namespace.secret("vllm-creds", data.clone()).await;
    namespace.distribution("demo", vllm_with_key()).await;
    let says = format!("Secret {}/vllm-creds has no key `token`", namespace.name);
    let trouble = Trouble {
        condition: "SecretsResolved",
        reason: "SecretKeyNotFound",
        says: &says,
        event: "SecretResolutionFailed",
    };
    let break_it = async || namespace.patch("Secret", "vllm-creds", &without("token")).await;
    let mend_it = async || namespace.secret("vllm-creds", data.clone()).await;
    survives(&world.operator, &namespace, trouble, break_it, mend_it).await;
}

fn without(key: &str) -> Value {
    json!({"data": {key: null}})
}

/// The server would read it as a number and exit. It is said without being shown.
#[tokio::test]
async fn a_secret_value_that_looks_like_a_number_is_shown_nowhere() {
    let Some(world) = world().await else { return };
    let namespace = world.operator.namespace("failing").await;
    let value = "86753098675309";
    namespace.secret("vllm-creds", json!({"token": "sk-some-key"})).await;
    namespace.distribution("demo", vllm_with_key()).await;
    let trouble = Trouble {
        condition: "SecretsResolved",
        reason: "SecretValueRejected",
        says: "the value of `token` in Secret vllm-creds looks like a number or boolean",
        event: "SecretResolutionFailed",
    };
    let break_it = async || namespace.secret("vllm-creds", json!({"token": value})).await;
    let mend_it = async || {
        for kind in [DISTRIBUTION, "Event", "Deployment", "ConfigMap", "Pod"] {
            let all = json!(namespace.list(kind).await).to_string();
            assert!(!all.contains(value), "the value stands in a {kind}");
        }
        assert!(!world.operator.process.log().contains(value), "the value stands in the log");
        namespace.secret("vllm-creds", json!({"token": "sk-another-key"})).await;
    };
    survives(&world.operator, &namespace, trouble, break_it, mend_it).await;
}

#[tokio::test]
async fn a_connection_string_that_is_none_is_shown_nowhere() {
    let Some(world) = world().await else { return };
    let namespace = world.operator.namespace("failing").await;
    let good = json!({"url": "postgresql://llama:first-word@pg:5432/stack"});
    namespace.secret("pg-creds", good.clone()).await;
    let spec = json!({
        "distribution": {"name": "starter"},
        "storage": {"sql": {
            "type": "postgres", "connectionString": {"name": "pg-creds", "key": "url"},
        }},
    });
    namespace.distribution("demo", spec).await;
    let trouble = Trouble {
        condition: "SecretsResolved",
        reason: "SecretValueRejected",
        says: "spec.storage.sql.connectionString: the value of `url` in Secret pg-creds",
        event: "SecretResolutionFailed",
    };
    let wrong = "postgresql://llama:second-word@one,two/stack";
    let break_it = async || namespace.secret("pg-creds", json!({"url": wrong})).await;
    let mend_it = async || {
        for kind in [DISTRIBUTION, "Event", "Deployment", "ConfigMap", "Pod"] {
            let all = json!(namespace.list(kind).await).to_string();
            assert!(!all.contains("-word"), "a password stands in a {kind}");
        }
        assert!(!world.operator.process.log().contains("-word"), "a password stands in the log");
        namespace.secret("pg-creds", good.clone()).await;
    };
    survives(&world.operator, &namespace, trouble, break_it, mend_it).await;
}

fn with_own_config() -> Value {
    json!({"distribution": {"name": "starter"}, "overrideConfig": {"configMapName": "my-config"}})
}

#[tokio::test]
async fn an_own_configuration_that_is_deleted() {
    let Some(world) = world().await else { return };
    let namespace = world.operator.namespace("failing").await;
    let data = json!({"config.yaml": "version: 2\n"});
    namespace.config_map("my-config", data.clone()).await;
    namespace.distribution("demo", with_own_config()).await;
    namespace.until_ready("demo").await;
    let before = namespace.running("demo").await;
    let trouble = Trouble {
        condition: "ConfigGenerated",
        reason: "ConfigMapNotFound",
        says: "spec.overrideConfig.configMapName: ConfigMap not found: my-config",
        event: "ConfigGenerationFailed",
    };
    let break_it = async || namespace.delete("ConfigMap", "my-config").await;
    let mend_it = async || namespace.config_map("my-config", data.clone()).await;
    survives(&world.operator, &namespace, trouble, break_it, mend_it).await;
    assert_eq!(namespace.running("demo").await, before, "the same file is no reason to restart");
}

#[tokio::test]
async fn an_own_configuration_that_loses_its_file() {
    let Some(world) = world().await else { return };
    let namespace = world.operator.namespace("failing").await;
    let data = json!({"config.yaml": "version: 2\n"});
    namespace.config_map("my-config", data.clone()).await;
    namespace.distribution("demo", with_own_config()).await;
    let trouble = Trouble {
        condition: "ConfigGenerated",
        reason: "ConfigMapNotFound",
        says: "ConfigMap my-config has neither the key config.yaml nor run.yaml",
        event: "ConfigGenerationFailed",
    };
    let break_it =
        async || namespace.patch("ConfigMap", "my-config", &without("config.yaml")).await;
    let mend_it = async || namespace.config_map("my-config", data.clone()).await;
    survives(&world.operator, &namespace, trouble, break_it, mend_it).await;
}

#[tokio::test]
async fn certificate_authorities_that_are_deleted() {
    let Some(world) = world().await else { return };
    let namespace = world.operator.namespace("failing").await;
    let made = rcgen::generate_simple_self_signed(["authority".to_owned()]).unwrap();
    let data = json!({"ca-bundle.crt": made.cert.pem()});
    namespace.config_map("roots", data.clone()).await;
    let mut spec = vllm();
    spec["networking"] = json!({"tls": {"caBundle": {"configMapName": "roots"}}});
    namespace.distribution("demo", spec).await;
    let trouble = Trouble {
        condition: "ConfigGenerated",
        reason: "ConfigMapNotFound",
        says: "spec.networking.tls.caBundle",
        event: "ConfigGenerationFailed",
    };
    let break_it = async || namespace.delete("ConfigMap", "roots").await;
    let mend_it = async || namespace.config_map("roots", data.clone()).await;
    survives(&world.operator, &namespace, trouble, break_it, mend_it).await;
}

#[tokio::test]
async fn a_change_of_the_resource_that_cannot_be_carried_out() {
    let Some(world) = world().await else { return };
    let namespace = world.operator.namespace("failing").await;
    namespace.distribution("demo", vllm()).await;
    namespace.until_ready("demo").await;
    let before = namespace.running("demo").await;
    let trouble = Trouble {
        condition: "ConfigGenerated",
        reason: "ConfigGenerationFailed",
        says: "spec.resources.models[0].provider: there is no inference provider `nobody`",
        event: "ConfigGenerationFailed",
    };
    let models = json!([{"name": "a", "provider": "nobody"}]);
    let wrong = json!({"spec": {"resources": {"models": models}}});
    let right = json!({"spec": {"resources": null}});
    let break_it = async || namespace.patch(DISTRIBUTION, "demo", &wrong).await;
    let mend_it = async || namespace.patch(DISTRIBUTION, "demo", &right).await;
    survives(&world.operator, &namespace, trouble, break_it, mend_it).await;
    assert!(namespace.running("demo").await.is_the_server_of(&before), "it asks for the same");
}

#[tokio::test]
async fn an_image_whose_configuration_has_an_unsupported_version() {
    let Some(world) = world().await else { return };
    let namespace = world.operator.namespace("failing").await;
    let newer = configuration().replacen("version: 2", "version: 3", 1);
    world.registry.push("versions/stack", "2", &labelled(configuration())).await.unwrap();
    world.registry.push("versions/stack", "3", &labelled(&newer)).await.unwrap();
    let host = world.registry.host();
    let image = |tag: &str| json!({"image": format!("{host}/versions/stack:{tag}")});
    let mut spec = vllm();
    spec["distribution"] = image("2");
    namespace.distribution("demo", spec).await;
    namespace.until_ready("demo").await;
    let before = namespace.running("demo").await;
    let trouble = Trouble {
        condition: "ConfigGenerated",
        reason: "UnsupportedConfigVersion",
        says: "spec.distribution: Unsupported config.yaml version 3. Supported versions: 1, 2",
        event: "ConfigGenerationFailed",
    };
    let to = |tag: &str| json!({"spec": {"distribution": image(tag)}});
    let break_it = async || namespace.patch(DISTRIBUTION, "demo", &to("3")).await;
    let mend_it = async || namespace.patch(DISTRIBUTION, "demo", &to("2")).await;
    survives(&world.operator, &namespace, trouble, break_it, mend_it).await;
    assert!(namespace.running("demo").await.is_the_server_of(&before), "it asks for the same");
}

/// A change needs the registry; it waits for it, and is carried out when the registry is back.
#[tokio::test]
async fn a_registry_that_cannot_be_reached() {
    let Some(world) = world().await else { return };
    let namespace = world.operator.namespace("failing").await;
    for tag in ["1", "2"] {
        world.registry.push("away/stack", tag, &labelled(configuration())).await.unwrap();
    }
    let image = |tag: &str| json!({"image": format!("{}/away/stack:{tag}", world.way.host())});
    let mut spec = vllm();
    spec["distribution"] = image("1");
    namespace.distribution("demo", spec).await;
    let trouble = Trouble {
        condition: "ConfigGenerated",
        reason: "RegistryUnavailable",
        says: "spec.distribution.image: the configuration of ",
        event: "RegistryUnavailable",
    };
    // Of an image that is known already the registry is not needed.
    let elsewhere = json!({"spec": {
        "distribution": image("2"), "providers": {"inference": {"endpoint": "http://other:8000"}},
    }});
    let break_it = async || {
        world.way.cut();
        namespace.patch(DISTRIBUTION, "demo", &elsewhere).await;
    };
    let mend_it = async || world.way.restore();
    survives(&world.operator, &namespace, trouble, break_it, mend_it).await;
    let ready = namespace.until_ready("demo").await;
    let config = llsd_testbed::story::config(&namespace, &ready).await;
    assert!(config.to_string().contains("http://other:8000"), "the change is carried out");
}
