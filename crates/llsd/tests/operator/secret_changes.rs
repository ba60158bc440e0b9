//! What a server reads at its start is read anew when it changes: a changed Secret or ConfigMap rolls
//! the pods, one that only looks different rolls nothing.

use std::time::{Duration, Instant};

use llsd_install::names;
use llsd_testkit::{InUse, WhileUsed};
use serde_json::{Value, json};

use llsd_testbed::access::{eventually, may};
use llsd_testbed::namespace::{DISTRIBUTION, Namespace, condition};
use llsd_testbed::operator::Operator;
use llsd_testbed::running::Running;
use llsd_testbed::story::{percent_decoded, vllm_with_key};
use llsd_testbed::test_operator::TestOperator;

const SECRET_HASH: &str = "llamastack.io/secret-hash";

/// A cluster whose operator reads Secrets again every other second.
async fn operator() -> Option<InUse<TestOperator>> {
    static OPERATOR: WhileUsed<TestOperator> = WhileUsed::new();
    OPERATOR.get(async || TestOperator::start(&["--secret-refresh", "2"]).await).await
}

/// Waits until the pods of a resource are all others than before, for another template.
async fn until_rolled(namespace: &Namespace<'_>, name: &str, before: &Running) -> Running {
    eventually("other pods run", async || {
        let now = namespace.running(name).await;
        now.template != before.template && now.pods.len() == 1 && now.pods.is_disjoint(&before.pods)
    })
    .await;
    namespace.until_ready(name).await;
    namespace.running(name).await
}

fn hash(running: &Running) -> Value {
    running.template["metadata"]["annotations"][SECRET_HASH].clone()
}

#[tokio::test]
async fn a_changed_secret_rolls_the_pods_of_all_who_use_it_and_a_label_rolls_nothing() {
    let Some(operator) = operator().await else { return };
    let namespace = operator.namespace("changes").await;
    namespace.secret("vllm-creds", json!({"token": "sk-first", "other": "x"})).await;
    for name in ["one", "two"] {
        namespace.distribution(name, vllm_with_key()).await;
    }
    namespace.until_ready("one").await;
    namespace.until_ready("two").await;
    let (one, two) = (namespace.running("one").await, namespace.running("two").await);
    assert!(hash(&one).is_string());

    // Neither a label nor a key that nobody reads is news.
    let labelled = json!({"metadata": {"labels": {"team": "a"}, "annotations": {"note": "b"}}});
    namespace.patch("Secret", "vllm-creds", &labelled).await;
    namespace.secret("vllm-creds", json!({"token": "sk-first", "other": "y"})).await;
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(namespace.running("one").await, one);
    assert_eq!(namespace.running("two").await, two);

    namespace.secret("vllm-creds", json!({"token": "sk-second", "other": "y"})).await;
    let one_now = until_rolled(&namespace, "one", &one).await;
    let two_now = until_rolled(&namespace, "two", &two).await;
    assert_ne!(hash(&one_now), hash(&one));
    assert_ne!(hash(&two_now), hash(&two));
    let text = format!("{}{}", one_now.template, two_now.template);
    assert!(!text.contains("sk-second"));
}

#[tokio::test]
async fn a_secret_that_rotates_while_its_resource_is_paused_is_told_and_read_afterwards() {
    let Some(operator) = operator().await else { return };
    let namespace = operator.namespace("rotated-paused").await;
    namespace.secret("vllm-creds", json!({"token": "sk-first"})).await;
    namespace.distribution("one", vllm_with_key()).await;
    namespace.until_ready("one").await;
    let before = namespace.running("one").await;
    let pause =
        |value: Value| json!({"metadata": {"annotations": {"llamastack.io/paused": value}}});
    namespace.patch(DISTRIBUTION, "one", &pause(json!("true"))).await;
    let paused = namespace.until_condition("one", "Paused", "True", "Paused").await;
    let said = condition(&paused, "Paused")["message"].to_string();
    assert!(!said.contains("waits"), "{said}");

    namespace.secret("vllm-creds", json!({"token": "sk-second"})).await;
    let told = namespace
        .until(DISTRIBUTION, "one", "says what waits", |now| {
            condition(now, "Paused")["message"].to_string().contains("secret:vllm-creds/token")
        })
        .await;
    assert_eq!(condition(&told, "Ready")["status"], "True", "{told}");
    assert!(!told.to_string().contains("sk-second"), "{told}");
    namespace.until_event("one", "Paused", "what waits: secret:vllm-creds/token").await;
    namespace.quiet(&operator.user).await;
    assert_eq!(namespace.running("one").await, before);

    namespace.patch(DISTRIBUTION, "one", &pause(Value::Null)).await;
    until_rolled(&namespace, "one", &before).await;
    let because = "its pod template changed because of: secret:vllm-creds/token";
    namespace.until_event("one", "DeploymentUpdated", because).await;
}

/// One of two is looked at for a reason of its own, before it is the Secret's turn to be read again.
#[tokio::test]
async fn whoever_notices_that_a_secret_changed_tells_the_others() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("shared").await;
    namespace.secret("vllm-creds", json!({"token": "sk-first"})).await;
    for name in ["one", "two"] {
        namespace.distribution(name, vllm_with_key()).await;
    }
    namespace.until_ready("one").await;
    namespace.until_ready("two").await;
    let (one, two) = (namespace.running("one").await, namespace.running("two").await);
    // What was read in the last ten seconds counts as fresh.
    tokio::time::sleep(Duration::from_secs(11)).await;
    namespace.secret("vllm-creds", json!({"token": "sk-second"})).await;
    let touch = json!({"metadata": {"annotations": {"llamastack.io/refresh": "1"}}});
    namespace.patch("LlamaStackDistribution", "one", &touch).await;
    until_rolled(&namespace, "one", &one).await;
    until_rolled(&namespace, "two", &two).await;
}

#[tokio::test]
async fn a_changed_own_configuration_rolls_the_pods_at_once_and_a_label_rolls_nothing() {
    let Some(operator) = operator().await else { return };
    let namespace = operator.namespace("changes").await;
    namespace.config_map("my-config", json!({"config.yaml": "version: 2\n"})).await;
    let spec = json!({
        "distribution": {"name": "starter"}, "overrideConfig": {"configMapName": "my-config"},
    });
    namespace.distribution("demo", spec).await;
    namespace.until_ready("demo").await;
    let before = namespace.running("demo").await;
    let mounted = |running: &Running| {
        let volumes = running.template["spec"]["volumes"].as_array().unwrap().iter();
        let mut names = volumes.filter(|volume| volume["name"] == "user-config");
        names.next().unwrap()["configMap"]["name"].as_str().unwrap().to_owned()
    };
    let copy = namespace.get("ConfigMap", &mounted(&before)).await.unwrap();
    assert_eq!(
        (&copy["immutable"], &copy["data"]),
        (&json!(true), &json!({"config.yaml": "version: 2\n"}))
    );
    let labelled = json!({"metadata": {"labels": {"team": "a"}}});
    namespace.patch("ConfigMap", "my-config", &labelled).await;
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(namespace.running("demo").await, before);
    let begun = Instant::now();
    namespace.config_map("my-config", json!({"config.yaml": "version: 2\napis: []\n"})).await;
    let now = until_rolled(&namespace, "demo", &before).await;
    assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
    // What a pod of before would start with again is still what was checked.
    let copy = namespace.get("ConfigMap", &mounted(&before)).await.unwrap();
    assert_eq!(copy["data"], json!({"config.yaml": "version: 2\n"}));
    // The configuration may name other files of the ConfigMap.
    let data = json!({"config.yaml": "version: 2\napis: []\n", "prompt.txt": "hello"});
    namespace.config_map("my-config", data.clone()).await;
    let last = until_rolled(&namespace, "demo", &now).await;
    let copy = namespace.get("ConfigMap", &mounted(&last)).await.unwrap();
    assert_eq!(copy["data"], data);
}

/// What becomes a variable is read when a pod starts, like everything else of a Secret.
#[tokio::test]
async fn what_variables_of_the_users_own_refer_to_rolls_the_pods_by_its_content() {
    let Some(operator) = operator().await else { return };
    let namespace = operator.namespace("changes").await;
    namespace.secret("creds", json!({"token": "sk-first", "other": "x"})).await;
    namespace.config_map("settings", json!({"LEVEL": "info"})).await;
    let spec = json!({
        "distribution": {"name": "starter"},
        "workload": {"overrides": {
            "env": [{"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "creds", "key": "token"}}}],
            "envFrom": [{"configMapRef": {"name": "settings"}}],
        }},
    });
    namespace.distribution("demo", spec).await;
    namespace.until_ready("demo").await;
    let first = namespace.running("demo").await;
    // A key that nothing reads is no news.
    namespace.secret("creds", json!({"token": "sk-first", "other": "y"})).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(namespace.running("demo").await, first);
    namespace.secret("creds", json!({"token": "sk-second", "other": "y"})).await;
    let second = until_rolled(&namespace, "demo", &first).await;
    namespace.config_map("settings", json!({"LEVEL": "debug"})).await;
    let third = until_rolled(&namespace, "demo", &second).await;

    // A pod could not start without it, so those that run are left alone.
    namespace.delete("Secret", "creds").await;
    let told =
        namespace.until_condition("demo", "SecretsResolved", "False", "SecretNotFound").await;
    assert!(told.to_string().contains("Secret not found: creds"), "{told}");
    namespace.until_event("demo", "SecretResolutionFailed", "creds").await;
    assert_eq!(namespace.running("demo").await, third);
    namespace.secret("creds", json!({"token": "sk-second"})).await;
    namespace.until_ready("demo").await;
    assert_eq!(namespace.running("demo").await, third, "the same value is no news");
}

/// The password of a database stands in a Secret of the operator's own as well.
#[tokio::test]
async fn a_changed_connection_string_reaches_the_servers_own_secret() {
    let Some(operator) = operator().await else { return };
    let namespace = operator.namespace("changes").await;
    namespace.secret("pg", json!({"url": "postgresql://llama:one@pg:5432/stack"})).await;
    let spec = json!({
        "distribution": {"name": "starter"},
        "storage": {"sql": {"type": "postgres", "connectionString": {"name": "pg", "key": "url"}}},
    });
    namespace.distribution("demo", spec).await;
    namespace.until_ready("demo").await;
    let before = namespace.running("demo").await;
    namespace.secret("pg", json!({"url": "postgresql://llama:two@pg:5432/stack"})).await;
    until_rolled(&namespace, "demo", &before).await;
    let stored = namespace.find("Secret", "demo-storage-").await.unwrap();
    assert_eq!(percent_decoded(&stored["data"]["password"]), "two");
}

#[tokio::test]
async fn with_the_opt_in_watch_a_changed_secret_rolls_the_pods_at_once() {
    let Some(mut operator) = TestOperator::start(&[]).await else { return };
    operator.operator_namespace().apply_file("deploy/secret-watch.yaml").await;
    let client = operator.cluster.client_for(&operator.user, &[]);
    eventually("the role of the watch is at work", async || {
        may(&client, "watch", ("", "secrets"), "", "").await
    })
    .await;
    operator.process.stop();
    operator.process =
        Operator::start(&operator.cluster, &operator.user, names::NAMESPACE, &["--watch-secrets"]);
    let namespace = operator.namespace("watched").await;
    namespace.distribution("demo", vllm_with_key()).await;
    namespace.until_condition("demo", "SecretsResolved", "False", "SecretNotFound").await;
    namespace.secret("vllm-creds", json!({"token": "sk-first"})).await;
    namespace.until_ready("demo").await;
    let before = namespace.running("demo").await;
    let begun = Instant::now();
    namespace.secret("vllm-creds", json!({"token": "sk-second"})).await;
    until_rolled(&namespace, "demo", &before).await;
    // Without the watch it is read every 45 s.
    assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_secret_that_could_not_be_read_for_a_while_is_read_again() {
    let arguments = ["--leader-elect=false", "--secret-refresh", "1"];
    let Some(mut operator) = TestOperator::start(&arguments).await else { return };
    let namespace = operator.namespace("away").await;
    namespace.secret("vllm-creds", json!({"token": "sk-first"})).await;
    namespace.distribution("demo", vllm_with_key()).await;
    namespace.until_ready("demo").await;
    let before = namespace.running("demo").await;
    let name = namespace.name;
    operator.cluster.stop_api_server();
    let said = "a Secret cannot be read";
    eventually(said, async || operator.process.log().contains(said)).await;
    operator.cluster.restart_api_server().await.unwrap();

    let namespace = Namespace { cluster: &operator.cluster, name };
    assert!(namespace.running("demo").await.is_the_server_of(&before));
    namespace.secret("vllm-creds", json!({"token": "sk-second"})).await;
    let rolls = |deployment: &Value| deployment["spec"]["template"] != before.template;
    namespace.until("Deployment", "demo", "rolls with its Secret", rolls).await;
}
