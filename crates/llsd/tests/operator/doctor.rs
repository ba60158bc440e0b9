//! `llsd doctor` on a real cluster: what is whole is told so, and each thing that is taken away is a problem with
//! a remedy.

use std::path::Path;
use std::process::Command;

use llsd_install::{cluster_wide, names};
use llsd_testbed::access::{eventually, may};
use llsd_testbed::granted::ROLE;
use llsd_testbed::install::{apply, file};
use llsd_testbed::test_operator::TestOperator;
use llsd_testkit::{ControlPlane, MASTERS, free_port};
use serde_json::{Value, json};

struct Examined {
    code: Option<i32>,
    checks: Vec<Value>,
}

impl Examined {
    fn by(kubeconfig: &Path) -> Self {
        let done = Command::new(env!("CARGO_BIN_EXE_llsd"))
            .args(["doctor", "-o", "json"])
            .env("KUBECONFIG", kubeconfig)
            .output()
            .unwrap();
        let found: Value = serde_json::from_slice(&done.stdout)
            .unwrap_or_else(|why| panic!("{why}: {}", String::from_utf8_lossy(&done.stderr)));
        let checks = found["checks"].as_array().unwrap().clone();
        Self { code: done.status.code(), checks }
    }

    fn of(&self, level: &str) -> Vec<&str> {
        let found = self.checks.iter().filter(|check| check["level"] == level);
        found.map(|check| check["check"].as_str().unwrap()).collect()
    }

    fn check(&self, name: &str) -> &Value {
        let found = self.checks.iter().find(|check| check["check"] == name);
        found.unwrap_or_else(|| panic!("{name}: {:?}", self.checks))
    }
}

/// An operator with webhooks, which the cluster takes for the one in the Deployment.
async fn installed() -> Option<TestOperator> {
    let cluster = ControlPlane::builder().with_controller_manager().start_or_skip().await?;
    let port = free_port().unwrap();
    let bind = format!("--webhook-bind-address=127.0.0.1:{port}");
    let url = format!("--webhook-url=https://127.0.0.1:{port}");
    let operator = TestOperator::within(cluster, &[&bind, &url, "--leader-elect"]).await;
    for name in ["webhook.yaml", "policy.yaml", "operator-policy.yaml", "manager.yaml"] {
        apply(&operator.cluster, file(&cluster_wide(), name)).await;
    }
    Some(operator)
}

/// Runs kubectl as an administrator.
async fn kubectl(cluster: &ControlPlane, arguments: &[&str], stdin: Option<&str>) -> String {
    cluster.kubectl(arguments, stdin).await.unwrap().expect_success()
}

/// Somebody who writes resources in one namespace and reads nothing of the cluster has both versions tried.
async fn an_author_has_the_webhooks_tried(cluster: &ControlPlane) {
    let role = "--clusterrole=llama-stack-k8s-operator-llsd-editor-role";
    let binding = ["create", "rolebinding", "author", role, "--user=author", "-n", "default"];
    kubectl(cluster, &binding, None).await;
    let author = cluster.kubeconfig_for("author", &[]);
    let answers = ["conversion answers", "admission answers"];
    eventually("the webhooks are tried", async || {
        let seen = Examined::by(&author);
        answers.iter().all(|name| seen.check(name)["level"] == "ok")
    })
    .await;
    assert_eq!(Examined::by(&author).check("definition")["level"], "warning");
}

/// OLM registers the webhook under a name that it makes up.
async fn register_as_olm_does(cluster: &ControlPlane) {
    let kind = "validatingwebhookconfiguration";
    let own = names::VALIDATING_WEBHOOK;
    let found = kubectl(cluster, &["get", kind, own, "-o", "json"], None).await;
    let mut registration: Value = serde_json::from_str(&found).unwrap();
    registration["metadata"] = json!({"name": format!("{}-x7k2p", names::WEBHOOK_NAME)});
    let registration = registration.to_string();
    kubectl(cluster, &["create", "-f", "-"], Some(&registration)).await;
    kubectl(cluster, &["delete", kind, own], None).await;
}

/// As with cert-manager: certificates as files, and no right to register them.
async fn take_foreign_certificates(cluster: &ControlPlane) {
    let path = "/spec/template/spec/containers/0/args/-";
    let flag = "--webhook-cert-dir=/var/run/webhook-certificates";
    let patch = json!([{"op": "add", "path": path, "value": flag}]).to_string();
    let deployment = format!("deployment/{}", names::OPERATOR);
    let patch = ["patch", &deployment, "-n", names::NAMESPACE, "--type=json", "-p", &patch];
    kubectl(cluster, &patch, None).await;
    let binding = "llama-stack-k8s-operator-webhook-rolebinding";
    kubectl(cluster, &["delete", "clusterrolebinding", binding], None).await;
    let client = cluster.client_for(&names::user(names::NAMESPACE), &[]);
    let definitions = ("apiextensions.k8s.io", "customresourcedefinitions");
    eventually("it may not register webhooks", async || {
        !may(&client, "patch", definitions, "", names::DEFINITION).await
    })
    .await;
}

/// Only what the broken role lacks is missed then, and a Secret that is left over says nothing.
async fn foreign_certificates_need_no_rights(cluster: &ControlPlane, admin: &Path) {
    take_foreign_certificates(cluster).await;
    let found = Examined::by(admin);
    let says = found.check("operator's rights")["says"].as_str().unwrap();
    assert!(says.starts_with("3 of "), "{says}");
    assert!(found.checks.iter().all(|it| it["check"] != "certificate"), "{:?}", found.checks);
}

#[tokio::test]
async fn the_doctor_says_what_is_whole_and_what_is_broken_with_a_remedy() {
    let Some(mut operator) = installed().await else { return };
    let admin = operator.cluster.kubeconfig_for("admin", &[MASTERS]);
    let is_whole = |it: &Examined| it.of("ok").len() == it.checks.len();
    eventually("all is well", async || is_whole(&Examined::by(&admin))).await;
    let healthy = Examined::by(&admin);
    assert_eq!(healthy.code, Some(0));
    for name in ["definition", "operator", "leader", "certificate", "conversion answers"] {
        healthy.check(name);
    }

    // Who only looks on is told what was not looked at, and nothing is called broken.
    let viewer = operator.cluster.kubeconfig_for("viewer", &[]);
    let seen = Examined::by(&viewer);
    assert_eq!((seen.code, seen.of("problem").len()), (Some(0), 0), "{:?}", seen.checks);
    assert!(seen.of("warning").contains(&"your rights"), "{:?}", seen.checks);
    assert!(seen.check("definition")["remedy"].as_str().unwrap().contains("administrator"));

    an_author_has_the_webhooks_tried(&operator.cluster).await;
    register_as_olm_does(&operator.cluster).await;
    eventually("it is found by another name", async || is_whole(&Examined::by(&admin))).await;

    // Each thing that is taken away is a problem of its own.
    let kubectl = async |arguments: &[&str]| {
        kubectl(&operator.cluster, arguments, None).await;
    };
    let patch = json!([{"op": "remove", "path": "/rules/0"}]).to_string();
    kubectl(&["patch", "clusterrole", ROLE, "--type=json", "-p", &patch]).await;
    kubectl(&[
        "scale",
        "-n",
        names::NAMESPACE,
        &format!("deployment/{}", names::OPERATOR),
        "--replicas=0",
    ])
    .await;
    operator.process.kill();
    let expected = ["operator", "leader", "operator's rights", "conversion answers"];
    eventually("each is told", async || Examined::by(&admin).of("problem") == expected).await;
    let broken = Examined::by(&admin);
    assert_eq!(broken.code, Some(1));
    assert_eq!(broken.of("warning"), ["admission answers"]);
    for check in broken.checks.iter().filter(|check| check["level"] != "ok") {
        assert!(check["remedy"].as_str().is_some_and(|remedy| !remedy.is_empty()), "{check}");
    }
    let rights = broken.check("operator's rights")["remedy"].as_str().unwrap();
    assert!(rights.contains(ROLE), "{rights}");

    let binding = ["delete", "validatingadmissionpolicybinding", names::OBJECT_POLICY];
    kubectl(&binding).await;
    let unbound = Examined::by(&admin);
    assert_eq!(unbound.of("warning"), ["admission answers", "admission policies"]);
    let says = unbound.check("admission policies")["says"].as_str().unwrap();
    assert!(says.starts_with("operator-objects.llamastack.io is not installed: "), "{says}");

    foreign_certificates_need_no_rights(&operator.cluster, &admin).await;

    kubectl(&["delete", "crd", names::DEFINITION]).await;
    let without = Examined::by(&admin);
    let definition = without.check("definition");
    assert_eq!(definition["level"], "problem");
    let remedy = definition["remedy"].as_str().unwrap();
    assert!(
        remedy.ends_with("for example: llsd crd | kubectl apply --server-side -f -"),
        "{remedy}"
    );
    let is_tried = |it: &Value| it["check"].as_str().unwrap().ends_with(" answers");
    assert!(!without.checks.iter().any(is_tried), "{:?}", without.checks);
}
