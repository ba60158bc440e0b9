//! `llsd status --watch` and `--wait` against a real cluster: each change is shown, and the exit code says how it
//! ended.

use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use llsd_testbed::access::eventually;
use llsd_testbed::namespace::Namespace;
use llsd_testbed::test_operator::TestOperator;
use serde_json::{Value, json};

fn status(namespace: &Namespace<'_>, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_llsd"));
    command.args(["status", "-n", &namespace.name]).args(arguments);
    command.env("KUBECONFIG", namespace.cluster.kubeconfig_path());
    command
}

async fn ended(namespace: &Namespace<'_>, arguments: &[&str]) -> Output {
    let mut command = status(namespace, arguments);
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

#[tokio::test]
async fn waiting_ends_when_the_server_is_ready_or_in_time() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("wait").await;
    let starter = json!({"distribution": {"name": "starter"}});
    namespace.distribution("good", starter.clone()).await;
    let good = ended(&namespace, &["good", "--wait", "--timeout", "2m"]).await;
    let stdout = String::from_utf8_lossy(&good.stdout).into_owned();
    assert_eq!(good.status.code(), Some(0), "{stdout}");
    assert!(stdout.contains("1 of 1 pods"), "{stdout}");

    let mut mistake = starter;
    mistake["resources"] = json!({"models": [{"name": "m", "provider": "nobody"}]});
    namespace.distribution("bad", mistake).await;
    let bad = ended(&namespace, &["bad", "--wait", "--timeout", "2s", "-o", "json"]).await;
    let stderr = String::from_utf8_lossy(&bad.stderr).into_owned();
    assert_eq!(bad.status.code(), Some(1), "{stderr}");
    assert!(stderr.ends_with("error: not ready within 2 s\n"), "{stderr}");
    let found: Value = serde_json::from_slice(&bad.stdout).unwrap();
    assert_eq!(found["ready"], false);

    let unknown = ended(&namespace, &["nobody", "--wait"]).await;
    assert!(unknown.status.code().is_some_and(|code| code > 0));
    let wrong = ended(&namespace, &["good", "--timeout", "2s"]).await;
    assert_eq!(wrong.status.code(), Some(2), "a timeout of nothing");
}

#[tokio::test]
async fn watching_shows_each_change() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("watch").await;
    namespace.distribution("seen", json!({"distribution": {"name": "starter"}})).await;
    namespace.until_ready("seen").await;
    let mut watching =
        status(&namespace, &["seen", "--watch"]).stdout(Stdio::piped()).spawn().unwrap();
    let stdout = BufReader::new(watching.stdout.take().unwrap());
    let shown = Arc::<Mutex<String>>::default();
    let lines = Arc::clone(&shown);
    std::thread::spawn(move || {
        for line in stdout.lines().map_while(Result::ok) {
            lines.lock().unwrap().push_str(&(line + "\n"));
        }
    });
    let shows = |text: &str| shown.lock().unwrap().contains(text);
    eventually("it is shown as it is", async || shows("1 of 1 pods")).await;
    let patch = json!({"metadata": {"annotations": {"llamastack.io/paused": "true"}}});
    namespace.patch("LlamaStackDistribution", "seen", &patch).await;
    eventually("the change is shown", async || shows("pending")).await;
    let all = shown.lock().unwrap().clone();
    assert!(!all.contains('\u{1b}'), "nothing for a terminal in a pipe: {all}");
    assert!(all.matches("1 of 1 pods").count() > 1, "one screen after the other: {all}");
    watching.kill().unwrap();
    watching.wait().unwrap();
}
