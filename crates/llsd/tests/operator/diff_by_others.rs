//! `llsd diff` for people who may do less than the operator, and for what is more than a plain
//! change: a number of pods that is left alone, a claim that is let go, an earlier state.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use llsd_plan::objects::labels::{POD_TEMPLATE_HASH, ROLLED_BACK};
use llsd_plan::resource::ROLLBACK_TO;
use serde_json::{Value, json};
use tokio::process::Command;

use llsd_testbed::access::{eventually, may};
use llsd_testbed::namespace::{DISTRIBUTION, Namespace};
use llsd_testbed::test_operator::TestOperator;

use crate::diff::text;

const RBAC: &str = "rbac.authorization.k8s.io";

fn with_secrets(endpoint: &str) -> Value {
    json!({
        "distribution": {"name": "starter"},
        "providers": {"inference": {
            "provider": "vllm", "endpoint": endpoint, "apiKey": {"name": "keys", "key": "vllm"},
        }},
        "storage": {"sql": {
            "type": "postgres", "connectionString": {"name": "keys", "key": "dsn"},
        }},
        "workload": {"overrides": {"env": [{
            "name": "OWN", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "vllm"}},
        }]}},
    })
}

fn with_variable(value: &str) -> Value {
    let overrides = json!({"env": [{"name": "VARIABLE", "value": value}]});
    json!({"distribution": {"name": "starter"}, "workload": {"overrides": overrides}})
}

fn with_workload(workload: &Value) -> Value {
    json!({"distribution": {"name": "starter"}, "workload": workload})
}

fn resource(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "llamastack.io/v1alpha2", "kind": DISTRIBUTION,
        "metadata": {"name": name}, "spec": spec,
    })
}

fn written(folder: &Path, resources: &[Value]) -> PathBuf {
    let file = folder.join("resources.yaml");
    let documents: Vec<String> = resources.iter().map(Value::to_string).collect();
    std::fs::write(&file, documents.join("\n---\n")).unwrap();
    file
}

async fn diff(kubeconfig: &Path, namespace: &str, file: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_llsd"))
        .args(["diff", "-n", namespace, "-f"])
        .arg(file)
        .args(arguments)
        .env("KUBECONFIG", kubeconfig)
        .output()
        .await
        .unwrap()
}

/// What is shown where nothing is in the way.
fn shown(output: &Output) -> String {
    let shown = text(&output.stdout);
    let code = i32::from(!shown.is_empty());
    assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
    shown
}

/// The part of a difference about one object.
fn part<'a>(shown: &'a str, object: &str) -> &'a str {
    let begin = shown.find(&format!("+++ planned/{object}\n"));
    let part = &shown[begin.unwrap_or_else(|| panic!("no {object}: {shown}"))..];
    part.find("\n--- ").map_or(part, |end| &part[..end])
}

/// Whether a line that begins with `sign` says this.
fn says(part: &str, sign: char, what: &str) -> bool {
    part.lines().any(|line| line.starts_with(sign) && line.contains(what))
}

/// A user with a role in one namespace alone; the kubeconfig.
async fn person(namespace: &Namespace<'_>, name: &str, (kind, role): (&str, &str)) -> PathBuf {
    let user = format!("{name}-of-{}", namespace.name);
    let binding = json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": "RoleBinding", "metadata": {"name": name},
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": user}],
    });
    namespace.apply(&binding.to_string()).await;
    let client = namespace.cluster.client_for(&user, &[]);
    for resource in [("llamastack.io", "llamastackdistributions"), ("apps", "deployments")] {
        eventually(&format!("{user} may write {}", resource.1), async || {
            may(&client, "patch", resource, &namespace.name, "").await
        })
        .await;
    }
    namespace.cluster.kubeconfig_for(&user, &[])
}

/// What a terminal is sent, which `script` makes.
async fn in_terminal(kubeconfig: &Path, namespace: &str, file: &Path) -> String {
    let program = env!("CARGO_BIN_EXE_llsd");
    let command = format!("{program} diff -n {namespace} -f {}", file.display());
    let mut script = Command::new("script")
        .args(["--quiet", "--command", &command, "/dev/null"])
        .env("KUBECONFIG", kubeconfig)
        .env("TERM", "xterm")
        .env_remove("NO_COLOR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let _open = script.stdin.take();
    text(&script.wait_with_output().await.unwrap().stdout)
}

#[tokio::test]
async fn who_may_not_read_the_operators_key_is_shown_the_same_as_who_may() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("diff-editor").await;
    let keys =
        json!({"vllm": "sk-hidden-key", "dsn": "postgresql://u:hidden-password@db:5432/llama"});
    namespace.secret("keys", keys).await;
    let editor = person(&namespace, "editor", ("ClusterRole", "edit")).await;
    let admin = namespace.cluster.kubeconfig_path();
    let folder = tempfile::tempdir().unwrap();
    let spec = with_secrets("http://vllm:8000");
    let file = written(folder.path(), &[resource("mine", &spec)]);

    let new = shown(&diff(&editor, &namespace.name, &file, &[]).await);
    assert!(new.contains("--- /dev/null\n+++ planned/Secret/mine-storage-"), "{new}");
    assert!(new.contains("*** (changed)"), "{new}");
    assert!(!new.contains("hidden") && !new.contains("aGlkZGVu"), "{new}");

    namespace.distribution("mine", spec).await;
    namespace.until_ready("mine").await;
    assert_eq!(shown(&diff(&editor, &namespace.name, &file, &[]).await), "");

    written(folder.path(), &[resource("mine", &with_secrets("http://other:8000"))]);
    // At once: which state was the last good one is a matter of time.
    let (editors, admins) = tokio::join!(
        diff(&editor, &namespace.name, &file, &[]),
        diff(admin, &namespace.name, &file, &[]),
    );
    let changed = shown(&editors);
    assert_eq!(changed, shown(&admins));
    assert!(says(&changed, '+', "http://other:8000/v1"), "{changed}");
    assert!(!changed.contains("planned/Secret/"), "{changed}");

    let role = json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": "Role", "metadata": {"name": "no-secrets"},
        "rules": [
            {
                "apiGroups": [""], "verbs": ["*"],
                "resources": [
                    "configmaps", "persistentvolumeclaims", "serviceaccounts", "services",
                ],
            },
            {
                "apiGroups": [
                    "apps", "autoscaling", "batch", "llamastack.io", "networking.k8s.io", "policy",
                ],
                "verbs": ["*"], "resources": ["*"],
            },
        ],
    });
    namespace.apply(&role.to_string()).await;
    let other = person(&namespace, "other", ("Role", "no-secrets")).await;
    let refused = diff(&other, &namespace.name, &file, &[]).await;
    let stderr = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{stderr}");
    assert_eq!(text(&refused.stdout), "");
    let why = format!("cannot be read: you may not get secrets in namespace {}", namespace.name);
    assert!(stderr.contains(&format!("Secret keys {why}\n")), "{stderr}");
}

#[tokio::test]
async fn a_paused_resource_is_compared_as_it_becomes_and_without_the_key_no_value_differs() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("diff-paused").await;
    let keys = |token: &str, host: &str| json!({"vllm": token, "dsn": format!("postgresql://u:p@{host}:5432/llama")});
    namespace.secret("keys", keys("sk-first", "first")).await;
    let spec = with_secrets("http://vllm:8000");
    namespace.distribution("mine", spec.clone()).await;
    namespace.until_ready("mine").await;
    let paused = json!({"metadata": {"annotations": {"llamastack.io/paused": "true"}}});
    namespace.patch(DISTRIBUTION, "mine", &paused).await;
    namespace.until_condition("mine", "Paused", "True", "Paused").await;
    namespace.secret("keys", keys("sk-second", "second")).await;

    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), &[resource("mine", &spec)]);
    let says_paused = "the resource is paused, and nothing is applied now";
    let says_unknown = "whether values of Secrets changed is not known";
    let admins = diff(namespace.cluster.kubeconfig_path(), &namespace.name, &file, &[]).await;
    let changed = shown(&admins);
    assert!(says(part(&changed, "Deployment/mine"), '+', "mine-storage-"), "{changed}");
    let said = text(&admins.stderr);
    assert_eq!(said.matches(says_paused).count(), 1, "{said}");
    assert!(!said.contains(says_unknown), "{said}");

    let editor = person(&namespace, "editor", ("ClusterRole", "edit")).await;
    let editors = diff(&editor, &namespace.name, &file, &[]).await;
    assert_eq!(shown(&editors), "", "{}", text(&editors.stderr));
    let said = text(&editors.stderr);
    assert_eq!(said.matches(says_paused).count(), 1, "{said}");
    assert_eq!(said.matches(says_unknown).count(), 1, "{said}");

    // A change of the resource is shown to both, and only that to who lacks the key.
    written(folder.path(), &[resource("mine", &with_secrets("http://other:8000"))]);
    let editors = diff(&editor, &namespace.name, &file, &[]).await;
    let changed = shown(&editors);
    assert!(says(&changed, '+', "http://other:8000/v1"), "{changed}");
    assert!(!changed.contains("planned/Secret/"), "{changed}");
}

#[tokio::test]
async fn what_is_done_beforehand_is_part_of_what_is_shown() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("diff-before").await;
    for (name, workload) in [
        ("scaled", json!({"replicas": 3})),
        ("stopped", json!({"replicas": 0})),
        ("kept", json!({"storage": {"size": "1Gi", "deletionPolicy": "Delete"}})),
    ] {
        namespace.distribution(name, with_workload(&workload)).await;
    }
    for (name, replicas) in [("scaled", 3), ("stopped", 0)] {
        let has = |now: &Value| now["spec"]["replicas"] == replicas;
        namespace.until("Deployment", name, "has its number of pods", has).await;
    }
    let owned = |now: &Value| now["metadata"]["ownerReferences"].is_array();
    let claim = namespace.until("PersistentVolumeClaim", "kept-pvc", "is owned", owned).await;

    let autoscaling = json!({"minReplicas": 2, "maxReplicas": 5});
    let storage = json!({"size": "1Gi", "deletionPolicy": "Retain"});
    let folder = tempfile::tempdir().unwrap();
    let changed = [
        ("scaled", json!({"replicas": 3, "autoscaling": autoscaling})),
        ("stopped", json!({"replicas": 0, "autoscaling": autoscaling})),
        ("kept", json!({"storage": storage})),
    ];
    let changed = changed.map(|(name, workload)| resource(name, &with_workload(&workload)));
    let file = written(folder.path(), &changed);
    let admin = namespace.cluster.kubeconfig_path();
    let shown = shown(&diff(admin, &namespace.name, &file, &[]).await);
    part(&shown, "HorizontalPodAutoscaler/scaled-hpa");
    let left = part(&shown, "Deployment/scaled");
    assert!(!says(left, '-', " replicas:") && !says(left, '+', " replicas:"), "{left}");
    let woken = part(&shown, "Deployment/stopped");
    assert!(says(woken, '-', " replicas: 0") && says(woken, '+', " replicas: 2"), "{woken}");
    let freed = part(&shown, "PersistentVolumeClaim/kept-pvc");
    let owner = claim["metadata"]["ownerReferences"][0]["uid"].as_str().unwrap();
    assert!(says(freed, '-', owner) && !says(freed, '+', "ownerReferences"), "{freed}");
}

#[tokio::test]
async fn a_return_to_an_earlier_state_is_shown_and_one_to_none_is_remarked_on() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("diff-return").await;
    namespace.distribution("mine", with_variable("one")).await;
    namespace.until_ready("mine").await;
    let states = namespace.list("ReplicaSet").await;
    let earlier = states[0]["metadata"]["labels"][POD_TEMPLATE_HASH].as_str().unwrap();
    namespace.distribution("mine", with_variable("two")).await;
    namespace
        .until("Deployment", "mine", "has the second state", |now| {
            now["spec"]["template"].to_string().contains("two")
        })
        .await;
    namespace.until_ready("mine").await;

    let folder = tempfile::tempdir().unwrap();
    let admin = namespace.cluster.kubeconfig_path();
    let mut back = resource("mine", &with_variable("two"));
    back["metadata"]["annotations"] = json!({ROLLBACK_TO: earlier});
    let file = written(folder.path(), &[back.clone()]);
    let returned = shown(&diff(admin, &namespace.name, &file, &[]).await);
    let deployment = part(&returned, "Deployment/mine");
    assert!(says(deployment, '-', "value: two"), "{deployment}");
    assert!(says(deployment, '+', "value: one"), "{deployment}");
    assert!(says(deployment, '+', ROLLED_BACK), "{deployment}");

    back["metadata"]["annotations"][ROLLBACK_TO] = json!("never");
    written(folder.path(), &[back]);
    let nowhere = diff(admin, &namespace.name, &file, &[]).await;
    assert!(!shown(&nowhere).contains("value: one"), "{}", text(&nowhere.stdout));
    let stderr = text(&nowhere.stderr);
    assert!(stderr.contains("no state never of the server is kept"), "{stderr}");
}

#[tokio::test]
async fn what_is_in_the_way_of_one_is_said_and_the_others_are_compared() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("diff-way").await;
    let admin = namespace.cluster.kubeconfig_path();
    namespace.distribution("mine", with_variable("one")).await;
    namespace.until_ready("mine").await;
    let folder = tempfile::tempdir().unwrap();
    let mine = resource("mine", &with_variable("two"));
    let file = written(folder.path(), std::slice::from_ref(&mine));

    let coloured = in_terminal(admin, &namespace.name, &file).await;
    assert!(coloured.contains("\u{1b}[31m--- live/Deployment/mine"), "{coloured}");
    assert!(coloured.contains("\u{1b}[32m+++ planned/Deployment/mine"), "{coloured}");
    assert!(!coloured.contains("\u{1b}[31m+"), "{coloured}");

    let nowhere = folder.path().join("missing/facts.yaml");
    let nowhere = nowhere.to_str().unwrap();
    let unwritten = diff(admin, &namespace.name, &file, &["--export-facts", nowhere]).await;
    assert_eq!(unwritten.status.code(), Some(2));
    assert!(text(&unwritten.stderr).contains(nowhere), "{}", text(&unwritten.stderr));

    let finalizers = |finalizers: Value| json!({"metadata": {"finalizers": finalizers}});
    namespace.patch("Service", "mine-service", &finalizers(json!(["example.com/stays"]))).await;
    namespace.delete("Service", "mine-service").await;
    let mut refused = resource("refused", &with_variable("one"));
    refused["metadata"]["finalizers"] = json!(["no finalizer at all!"]);
    written(folder.path(), &[refused, mine]);
    let compared = diff(admin, &namespace.name, &file, &[]).await;
    namespace.patch("Service", "mine-service", &finalizers(Value::Null)).await;
    assert_eq!(compared.status.code(), Some(2));
    let stdout = text(&compared.stdout);
    assert!(says(part(&stdout, "Deployment/mine"), '+', "value: two"), "{stdout}");
    assert!(!stdout.contains("refused"), "{stdout}");
    let stderr = text(&compared.stderr);
    let of_it = format!("{}/refused: ", namespace.name);
    let line = stderr.lines().find(|line| line.starts_with(&of_it));
    assert!(line.is_some_and(|line| line.contains("no finalizer at all!")), "{stderr}");
    assert!(stderr.contains("Service mine-service: is being deleted"), "{stderr}");
}

#[tokio::test]
async fn facts_are_of_one_resource_and_files_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().join("kubeconfig");
    let two = ["one", "two"].map(|name| resource(name, &with_variable("one")));
    let file = written(folder.path(), &two);
    let facts = folder.path().join("facts.yaml");
    let arguments = ["--export-facts", facts.to_str().unwrap()];
    let several = diff(&nowhere, "any", &file, &arguments).await;
    assert_eq!(several.status.code(), Some(2));
    let stderr = text(&several.stderr);
    assert!(stderr.contains("--export-facts is for one resource"), "{stderr}");
    assert!(!facts.exists());

    let missing = diff(&nowhere, "any", &folder.path().join("missing.yaml"), &[]).await;
    assert_eq!(missing.status.code(), Some(2));
    assert!(text(&missing.stderr).contains("missing.yaml: "), "{}", text(&missing.stderr));
}
