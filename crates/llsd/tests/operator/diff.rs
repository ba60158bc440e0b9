//! `llsd diff` shows what the operator would change, and changes nothing.

use std::path::Path;
use std::process::Output;

use llsd_plan::fingerprint;
use llsd_plan::objects::labels::STORAGE_SECRETS;
use llsd_plan::objects::start_program;
use serde_json::{Value, json};
use tokio::process::Command;

use llsd_testbed::namespace::Namespace;
use llsd_testbed::test_operator::TestOperator;

const NAMES: [(&str, &str); 4] = [
    ("ServiceAccount", "mine-sa"),
    ("Service", "mine-service"),
    ("Deployment", "mine"),
    ("Secret", "mine-storage-"),
];

fn resource(endpoint: &str) -> Value {
    json!({
        "apiVersion": "llamastack.io/v1alpha2",
        "kind": "LlamaStackDistribution",
        "metadata": {"name": "mine"},
        "spec": {
            "distribution": {"name": "starter"},
            "providers": {"inference": {
                "provider": "vllm", "endpoint": endpoint, "apiKey": {"name": "keys", "key": "vllm"},
            }},
            "storage": {"sql": {
                "type": "postgres", "connectionString": {"name": "keys", "key": "dsn"},
            }},
        },
    })
}

async fn llsd(namespace: &Namespace<'_>, arguments: &[&str], file: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_llsd"))
        .args(arguments)
        .arg("-f")
        .arg(file)
        .env("KUBECONFIG", namespace.cluster.kubeconfig_path())
        .output()
        .await
        .unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

async fn applied<'a>(operator: &'a TestOperator, folder: &Path) -> Namespace<'a> {
    let namespace = operator.namespace("diff").await;
    let keys = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"},
        "stringData": {"vllm": "sk-hidden-key", "dsn": "postgresql://u:hidden-password@db:5432/llama"},
    });
    namespace.apply(&keys.to_string()).await;
    let file = folder.join("resource.yaml");
    std::fs::write(&file, resource("http://vllm:8000").to_string()).unwrap();
    namespace.apply(&std::fs::read_to_string(&file).unwrap()).await;
    namespace.until_ready("mine").await;
    namespace
}

#[tokio::test]
async fn nothing_is_shown_for_what_is_applied_and_a_change_is_shown_and_not_made() {
    let Some(operator) = TestOperator::shared().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let namespace = applied(operator, folder.path()).await;
    let file = folder.path().join("resource.yaml");
    let diff = ["diff", "-n", &namespace.name];
    let same = llsd(&namespace, &diff, &file).await;
    assert_eq!(text(&same.stdout), "", "{}", text(&same.stderr));
    assert_eq!(same.status.code(), Some(0));

    let mut versions = Vec::new();
    for (kind, name) in NAMES {
        versions
            .push(namespace.find(kind, name).await.unwrap()["metadata"]["resourceVersion"].clone());
    }
    std::fs::write(&file, resource("http://other:8000").to_string()).unwrap();
    let changed = llsd(&namespace, &diff, &file).await;
    assert_eq!(changed.status.code(), Some(1), "{}", text(&changed.stderr));
    let shown = text(&changed.stdout);
    assert!(shown.contains("+++ planned/ConfigMap/mine-config-"), "{shown}");
    assert!(shown.contains("--- live/Deployment/mine\n+++ planned/Deployment/mine"), "{shown}");
    assert!(shown.contains("http://other:8000/v1"), "{shown}");
    assert!(!shown.contains("hidden"), "{shown}");
    for ((kind, name), version) in NAMES.into_iter().zip(versions) {
        let now = namespace.find(kind, name).await.unwrap();
        assert_eq!(now["metadata"]["resourceVersion"], version, "{kind} {name}");
    }
    assert_eq!(
        namespace.get("LlamaStackDistribution", "mine").await.unwrap()["metadata"]["generation"],
        1
    );
}

#[tokio::test]
async fn exported_facts_render_to_exactly_what_the_operator_applied() {
    let Some(operator) = TestOperator::shared().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let namespace = applied(operator, folder.path()).await;
    let file = folder.path().join("resource.yaml");
    let facts = folder.path().join("facts.yaml");
    let facts = facts.to_str().unwrap();
    let exported =
        llsd(&namespace, &["diff", "-n", &namespace.name, "--export-facts", facts], &file).await;
    assert_eq!(exported.status.code(), Some(0), "{}", text(&exported.stderr));
    assert!(!std::fs::read_to_string(facts).unwrap().contains("hidden"));

    let mut offline = resource("http://vllm:8000");
    offline["metadata"]["namespace"] = json!(namespace.name);
    std::fs::write(&file, offline.to_string()).unwrap();
    let rendered = llsd(&namespace, &["render", "--facts", facts], &file).await;
    assert_eq!(rendered.status.code(), Some(0), "{}", text(&rendered.stderr));
    let stdout = text(&rendered.stdout);
    let mut compared = Vec::new();
    for document in stdout.split("---\n") {
        let mut object: Value = serde_saphyr::from_str(document).unwrap();
        let kind = object["kind"].as_str().unwrap().to_owned();
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        // Its values are placeholders offline.
        if kind == "Secret" {
            continue;
        }
        let live = namespace.get(&kind, &name).await.unwrap();
        // Only the cluster knows which Secrets earlier states need.
        if kind == "Deployment" {
            let record = &live["metadata"]["annotations"][STORAGE_SECRETS];
            assert!(record.is_string(), "{live}");
            object["metadata"]["annotations"][STORAGE_SECRETS] = record.clone();
        }
        let same = fingerprint::of_live(&live) == Some(fingerprint::of_desired(&object));
        assert!(same, "{kind} {name}: {document}");
        if kind == "ConfigMap" {
            assert_eq!(object["data"], live["data"]);
        }
        compared.push(kind);
    }
    assert_eq!(compared, ["ServiceAccount", "ConfigMap", "ConfigMap", "Service", "Deployment"]);
}

#[tokio::test]
async fn what_would_go_and_what_is_in_the_way_is_said() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("diff-less").await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("resource.yaml");
    let spec = json!({"distribution": {"name": "starter"}, "networking": {"expose": true}});
    namespace.distribution("mine", spec).await;
    namespace.until_ready("mine").await;
    let mut bare = resource("http://vllm:8000");
    bare["spec"] = json!({"distribution": {"name": "starter"}});
    std::fs::write(&file, bare.to_string()).unwrap();
    // Applied by another manager, so what the file does not name stays in the resource.
    bare["spec"]["networking"] = json!({"expose": false});
    std::fs::write(&file, bare.to_string()).unwrap();
    let diff = ["diff", "-n", &namespace.name];
    let less = llsd(&namespace, &diff, &file).await;
    assert_eq!(less.status.code(), Some(1), "{}", text(&less.stderr));
    assert!(text(&less.stdout).contains("--- live/Ingress/mine-ingress\n+++ /dev/null"));

    let foreign = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "other-service"},
        "spec": {"ports": [{"port": 80}]},
    });
    namespace.apply(&foreign.to_string()).await;
    bare["metadata"]["name"] = json!("other");
    std::fs::write(&file, bare.to_string()).unwrap();
    let blocked = llsd(&namespace, &diff, &file).await;
    assert_eq!(blocked.status.code(), Some(2));
    assert!(text(&blocked.stderr).contains("Service other-service belongs to somebody else"));

    bare["spec"]["providers"] = json!({"inference": {"provider": "vllm"}});
    std::fs::write(&file, bare.to_string()).unwrap();
    let refused = llsd(&namespace, &diff, &file).await;
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        text(&refused.stderr).contains("spec.providers.inference"),
        "{}",
        text(&refused.stderr)
    );
}

#[tokio::test]
async fn what_new_resources_of_a_namespace_share_is_shown_once() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("diff-shared").await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("resources.yaml");
    let resource = |name: &str| {
        json!({
            "apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution",
            "metadata": {"name": name, "namespace": namespace.name},
            "spec": {"distribution": {"name": "starter"}, "workload": {"workers": 2}},
        })
    };
    let both = format!("{}\n---\n{}\n", resource("one"), resource("two"));
    std::fs::write(&file, both).unwrap();
    let shown = text(&llsd(&namespace, &["diff"], &file).await.stdout);
    let copy = format!("+++ planned/ConfigMap/{}", start_program::name());
    assert_eq!(shown.matches(&copy).count(), 1, "{shown}");
    for name in ["one", "two"] {
        assert!(shown.contains(&format!("+++ planned/Deployment/{name}\n")), "{shown}");
    }

    let theirs = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": start_program::name()},
        "data": {"launch.py": "print('theirs')"},
    });
    namespace.apply(&theirs.to_string()).await;
    let refused = text(&llsd(&namespace, &["diff"], &file).await.stderr);
    assert!(refused.contains("does not hold the programs that its name stands for"), "{refused}");
    assert!(!refused.contains("belongs to somebody else"), "{refused}");
}

#[tokio::test]
async fn without_a_cluster_it_is_unavailable() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("resource.yaml");
    std::fs::write(&file, resource("http://vllm:8000").to_string()).unwrap();
    let nowhere = folder.path().join("kubeconfig");
    let cluster = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {}}],
    });
    std::fs::write(&nowhere, cluster.to_string()).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_llsd"))
        .args(["diff", "-f"])
        .arg(&file)
        .env("KUBECONFIG", &nowhere)
        .output()
        .await
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let words =
        "the connection to the server was refused (server http://127.0.0.1:1, context c)\n    → ";
    assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
}
