//! `llsd report` writes what a bug report needs, and no secret.

use std::path::Path;

use serde_json::json;
use tokio::process::Command;

use llsd_testbed::namespace::Namespace;
use llsd_testbed::test_operator::TestOperator;

/// Name and content of every file, by a reader that is not ours.
const READ: &str = "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1])
for name in z.namelist(): print('== ' + name); print(z.read(name).decode())";

#[tokio::test]
async fn a_report_has_the_objects_and_no_value_of_a_secret() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("report").await;
    let keys = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"},
        "stringData": {"vllm": "sk-hidden-key", "dsn": "postgresql://u:hidden-password@db:5432/llama"},
    });
    namespace.apply(&keys.to_string()).await;
    let resource = json!({
        "apiVersion": "llamastack.io/v1alpha2",
        "kind": "LlamaStackDistribution",
        "metadata": {"name": "mine", "annotations": {"note": "the key is sk-hidden-key"}},
        "spec": {
            "distribution": {"name": "starter"},
            "providers": {"inference": {
                "provider": "vllm", "endpoint": "http://vllm:8000",
                "apiKey": {"name": "keys", "key": "vllm"},
            }},
            "storage": {"sql": {
                "type": "postgres", "connectionString": {"name": "keys", "key": "dsn"},
            }},
            "workload": {"overrides": {"env": [{"name": "MY_TOKEN", "value": "hidden-in-clear"}]}},
        },
    });
    namespace.apply(&resource.to_string()).await;
    namespace.until_ready("mine").await;
    let text = reported(&namespace, namespace.cluster.kubeconfig_path(), &[]).await;
    for part in [
        "== versions.txt\nllsd ",
        "== resource.yaml",
        "== objects/deployment-mine.yaml",
        "== objects/configmap-mine-config-",
        "== objects/pod-mine-",
        "== events.txt",
        "ConfigGenerated",
        "(left out: vllm of Secret keys)",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    assert!(!text.contains("hidden"), "{text}");
    // Pods of this control plane run nothing: a log that was asked for is a remark.
    let log = "logs/mine-";
    assert!(text.contains(log), "{text}");

    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": "without-secrets"},
        "rules": [{
            "apiGroups": ["", "apps", "llamastack.io"], "verbs": ["get", "list"],
            "resources": ["llamastackdistributions", "deployments", "pods", "pods/log", "events"],
        }],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": "without-secrets"},
        "subjects": [{"kind": "User", "name": "reporter", "apiGroup": "rbac.authorization.k8s.io"}],
        "roleRef": {
            "kind": "Role", "name": "without-secrets", "apiGroup": "rbac.authorization.k8s.io",
        },
    });
    for object in [role, binding] {
        namespace.apply(&object.to_string()).await;
    }
    let reporter = namespace.cluster.kubeconfig_for("reporter", &[]);
    let text = reported(&namespace, &reporter, &[]).await;
    assert!(text.contains("logs are left out"), "{text}");
    assert!(!text.contains(log), "{text}");
    let text = reported(&namespace, &reporter, &["--logs"]).await;
    assert!(text.contains(log), "{text}");

    let missing = Command::new(env!("CARGO_BIN_EXE_llsd"))
        .args(["report", "nobody", "-n", &namespace.name])
        .env("KUBECONFIG", namespace.cluster.kubeconfig_path())
        .output()
        .await
        .unwrap();
    assert_eq!(missing.status.code(), Some(3));
}

/// What a report holds that somebody with these rights makes.
async fn reported(namespace: &Namespace<'_>, kubeconfig: &Path, more: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.zip");
    let done = Command::new(env!("CARGO_BIN_EXE_llsd"))
        .args(["report", "mine", "-n", &namespace.name, "-o"])
        .arg(&file)
        .args(more)
        .env("KUBECONFIG", kubeconfig)
        .output()
        .await
        .unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    let read = Command::new("python3").args(["-c", READ]).arg(&file).output().await.unwrap();
    String::from_utf8(read.stdout).unwrap()
}
