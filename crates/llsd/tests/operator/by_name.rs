//! Commands that take the name of a resource in the cluster, and shells that complete it.

use std::process::Output;

use serde_json::{Value, json};
use tokio::process::Command;

use llsd_testbed::access::eventually;
use llsd_testbed::namespace::Namespace;
use llsd_testbed::test_operator::TestOperator;

async fn llsd(namespace: &Namespace<'_>, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_llsd"));
    command.args(arguments).args(["-n", &namespace.name]);
    command.env("KUBECONFIG", namespace.cluster.kubeconfig_path()).output().await.unwrap()
}

async fn printed(namespace: &Namespace<'_>, arguments: &[&str]) -> String {
    let done = llsd(namespace, arguments).await;
    let stderr = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(0), "{arguments:?}: {stderr}");
    String::from_utf8(done.stdout).unwrap()
}

async fn json_output(namespace: &Namespace<'_>, arguments: &[&str]) -> Value {
    serde_json::from_str(&printed(namespace, arguments).await).unwrap()
}

/// What bash is answered where the cursor stands behind the last word.
async fn completed(namespace: &Namespace<'_>, kubeconfig: &str, words: &[&str]) -> Vec<String> {
    let last = words.len().to_string();
    let done = Command::new(env!("CARGO_BIN_EXE_llsd"))
        .args(["--", "llsd"])
        .args(words)
        .env("LLSD_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", last)
        .env("_CLAP_IFS", "\n")
        .env("KUBECONFIG", kubeconfig)
        .output()
        .await
        .unwrap();
    assert_eq!(done.status.code(), Some(0), "{words:?} in {}", namespace.name);
    String::from_utf8(done.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_resource_of_the_cluster_is_shown_planned_and_restarted_by_its_name() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("by-name").await;
    namespace
        .distribution(
            "mine",
            json!({
                "distribution": {"name": "starter"},
                "providers": {"inference": {"provider": "vllm", "endpoint": "http://vllm:8000"}},
            }),
        )
        .await;
    namespace.until_ready("mine").await;

    let status = json_output(&namespace, &["status", "mine", "-o", "json"]).await;
    assert_eq!((&status["ready"], &status["phase"]), (&json!(true), &json!("Ready")), "{status}");
    let history = json_output(&namespace, &["history", "mine", "-o", "json"]).await;
    assert_eq!(history[0]["notes"][0], "runs", "{history}");

    let config = printed(&namespace, &["render", "mine", "-o", "config"]).await;
    let written = namespace.list("ConfigMap").await;
    let is_it = |map: &&Value| map["data"]["config.yaml"] == config.as_str();
    assert!(written.iter().any(|map| is_it(&map)), "{config}\n{written:?}");
    let explained = printed(&namespace, &["explain", "mine"]).await;
    assert!(explained.contains("spec.providers.inference"), "{explained}");
    assert_eq!(printed(&namespace, &["diff", "mine"]).await, "");
    let nobody = llsd(&namespace, &["render", "nobody"]).await;
    assert_eq!(nobody.status.code(), Some(3));
    let said = String::from_utf8_lossy(&nobody.stderr).into_owned();
    let words = format!(
        "error: there is no LlamaStackDistribution nobody in namespace {} (server ",
        namespace.name
    );
    assert!(said.starts_with(&words) && said.contains(", context "), "{said}");

    let kubeconfig = namespace.cluster.kubeconfig_path().display().to_string();
    let flags = ["status", "mine", "-n", &namespace.name, "--kubeconfig", &kubeconfig];
    let mut command = Command::new(env!("CARGO_BIN_EXE_llsd"));
    let by_flag = command.args(flags).env_remove("KUBECONFIG").output().await.unwrap();
    assert_eq!(by_flag.status.code(), Some(0), "{}", String::from_utf8_lossy(&by_flag.stderr));

    printed(&namespace, &["restart", "mine"]).await;
    let deployment = namespace.get("Deployment", "mine").await.unwrap();
    let pod = &deployment["spec"]["template"]["metadata"]["annotations"];
    assert!(pod["kubectl.kubernetes.io/restartedAt"].is_string(), "{deployment}");
    printed(&namespace, &["refresh", "mine"]).await;
    let resource = namespace.get("LlamaStackDistribution", "mine").await.unwrap();
    assert!(resource["metadata"]["annotations"]["llamastack.io/refresh"].is_string());
}

#[tokio::test]
async fn a_shell_completes_names_of_the_cluster_with_the_rights_of_the_user() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("completed").await;
    namespace.distribution("first-of-two", json!({"distribution": {"name": "starter"}})).await;
    namespace.distribution("second", json!({"distribution": {"name": "starter"}})).await;
    let admin = namespace.cluster.kubeconfig_path().display().to_string();
    let place = ["-n", &*namespace.name];

    // An answer that takes longer than a second is no answer, and this machine may be busy.
    eventually("both names", async || {
        let words = [&["status"], &place[..], &[""]].concat();
        let found = completed(&namespace, &admin, &words).await;
        found.iter().any(|name| name == "first-of-two") && found.iter().any(|name| name == "second")
    })
    .await;
    eventually("the one that begins so", async || {
        let words = [&["rollout", "approve"], &place[..], &["fir"]].concat();
        completed(&namespace, &admin, &words).await == ["first-of-two"]
    })
    .await;
    eventually("the namespace", async || {
        let words = ["logs", "-n", &namespace.name[..namespace.name.len() - 1]];
        completed(&namespace, &admin, &words).await.contains(&namespace.name)
    })
    .await;

    let nowhere = tempfile::NamedTempFile::new().unwrap();
    let words = [&["status"], &place[..], &["f"]].concat();
    let nothing = completed(&namespace, &nowhere.path().display().to_string(), &words).await;
    assert_eq!(nothing, Vec::<String>::new(), "a cluster that cannot be asked");
}
