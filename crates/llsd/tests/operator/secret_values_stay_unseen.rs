//! The value of no Secret is shown anywhere that more people may read than the Secret itself: not in
//! the log, the status, an event, a figure, or an object that the operator writes.

use serde_json::{Value, json};

use llsd_testbed::namespace::Namespace;
use llsd_testbed::test_operator::TestOperator;

/// Distinct, and long enough not to occur by chance. The last two cannot be used, and what is wrong
/// with them is told.
const VALUES: [(&str, &str); 6] = [
    ("token", "tok-5f2c9a7e41b08d36"),
    ("client", "cs-6ba2f7d0193c8e45"),
    ("url", "postgresql://llama:pw-93ad17c2f60b4e58@db.example:5432/llama"),
    ("redis", "rediss://:pw-0c7be52d94a1f863@redis.example:6380"),
    ("broken", "postgres:/pw-d81e60fb3a294c75 no-url"),
    ("empty-host", "postgresql://u:pw-47f1ce8890b2da63@/x?sslmode=bogus-1d9e44"),
];

/// What would give each of them away.
const MARKS: [&str; 7] = [
    "6ba2f7d0193c8e45",
    "5f2c9a7e41b08d36",
    "93ad17c2f60b4e58",
    "0c7be52d94a1f863",
    "d81e60fb3a294c75",
    "47f1ce8890b2da63",
    "bogus-1d9e44",
];

fn key(name: &str) -> Value {
    json!({"secretKeyRef": {"name": "values", "key": name}})
}

fn with_database(url: &str) -> Value {
    json!({
        "distribution": {"name": "starter"},
        "providers": {"inference": {
            "provider": "vllm", "endpoint": "http://vllm:8000", "apiKey": key("token"),
        }},
        "storage": {"sql": {"type": "postgres", "connectionString": key(url)}},
    })
}

fn assert_unseen(text: &str, place: &str) {
    for mark in MARKS {
        let encoded = base64(mark);
        for form in [mark, encoded.as_str()] {
            let line = text.lines().find(|line| line.contains(form));
            assert_eq!(line, None, "{place} shows a secret");
        }
    }
}

/// As far as the text around it does not shift it.
fn base64(text: &str) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD_NO_PAD.encode(text)
}

async fn assert_objects_are_clean(namespace: &Namespace<'_>) {
    let kinds = ["LlamaStackDistribution", "Deployment", "ConfigMap", "Service", "Event", "Pod"];
    for kind in kinds {
        for object in namespace.list(kind).await {
            assert_unseen(&object.to_string(), &format!("{kind} {}", object["metadata"]["name"]));
        }
    }
}

#[tokio::test]
async fn the_value_of_no_secret_is_shown_in_logs_status_events_or_objects() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("unseen").await;
    let values: serde_json::Map<String, Value> =
        VALUES.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "values"}, "stringData": values,
    });
    namespace.apply(&secret.to_string()).await;
    namespace.distribution("good", with_database("url")).await;
    namespace.distribution("broken", with_database("broken")).await;
    namespace.distribution("hostless", with_database("empty-host")).await;
    let mut redis = with_database("url");
    redis["storage"]["kv"] = json!({
        "type": "redis", "endpoint": "redis://redis.example:6379", "password": key("redis"),
    });
    namespace.distribution("redis", redis).await;
    let mut guarded = with_database("url");
    guarded["access"]["authentication"]["oidc"] = json!({
        "issuer": "https://login.example",
        "introspection": {
            "url": "https://login.example/introspect", "clientId": "stack",
            "clientSecret": key("client"),
        },
    });
    namespace.distribution("guarded", guarded).await;
    let mut keys = with_database("url");
    // A release that takes no keys: what is wrong is told, and not what they are.
    keys["access"]["authentication"]["apiKeys"] = json!([key("client"), key("token")]);
    namespace.distribution("keys", keys).await;
    for name in ["good", "guarded"] {
        namespace.until_ready(name).await;
    }
    for name in ["broken", "hostless", "redis", "keys"] {
        let told = |object: &Value| object["status"]["observedGeneration"] == 1;
        namespace.until("LlamaStackDistribution", name, "has a status", told).await;
    }
    assert_objects_are_clean(&namespace).await;
    assert_unseen(&operator.process.log(), "the log");
}
