//! An operator whose clock goes wrong, and two installations with keys of their own on one resource.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use llsd_install::names::KEY_SECRET;
use llsd_testbed::namespace::{Namespace, condition};
use llsd_testbed::operator::{Operator, executable};
use llsd_testbed::test_operator::TestOperator;
use llsd_testkit::PodState;
use serde_json::{Value, json};

use crate::preflight::set_preflight;

/// Ten minutes are added to the time of day that a program reads; its other clocks are as they are.
const CLOCK: &str = r"
#define _GNU_SOURCE
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>
int clock_gettime(clockid_t id, struct timespec *now) {
    long failed = syscall(SYS_clock_gettime, id, now);
    if (!failed && id == CLOCK_REALTIME) now->tv_sec += 600;
    return failed;
}
";

/// The operator as a program that reads a clock ten minutes ahead.
fn ahead_of_time(folder: &Path) -> PathBuf {
    let [source, library, program] =
        ["clock.c", "clock.so", "llsd-ahead"].map(|name| folder.join(name));
    fs::write(&source, CLOCK).unwrap();
    let mut compiler = Command::new("cc");
    let compiled = compiler.args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status();
    assert!(compiled.unwrap().success());
    let (library, real) = (library.display(), executable());
    let script = format!("#!/bin/sh\nLD_PRELOAD={library} exec {} \"$@\"\n", real.display());
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program
}

fn spec(endpoint: &str) -> Value {
    json!({
        "distribution": {"name": "starter"},
        "providers": {"inference": [{"id": "mine", "provider": "vllm", "endpoint": endpoint}]},
        "workload": {"overrides": {"minReadySeconds": 0}},
    })
}

async fn deployment(namespace: &Namespace<'_>) -> Value {
    namespace.get("Deployment", "llama").await.unwrap()
}

#[tokio::test]
async fn an_operator_whose_clock_is_ahead_calls_no_preflight_late() {
    let Some(mut operator) = TestOperator::start(&[]).await else { return };
    let name = operator.namespace("clock").await.name;
    let namespace = Namespace { cluster: &operator.cluster, name: name.clone() };
    namespace.distribution("llama", spec("http://first:8000")).await;
    namespace.until_ready("llama").await;
    let before = deployment(&namespace).await["spec"]["template"].clone();
    set_preflight(&operator, PodState::Pending);

    operator.process.kill();
    let folder = tempfile::tempdir().unwrap();
    let program = ahead_of_time(folder.path());
    operator.process = Operator::of_program(&program, &operator.cluster, &operator.user, &[]);
    let namespace = Namespace { cluster: &operator.cluster, name };
    namespace.distribution("llama", spec("http://second:8000")).await;
    let running =
        namespace.until_condition("llama", "Preflight", "Unknown", "PreflightRunning").await;
    let told = condition(&running, "Preflight")["lastTransitionTime"].as_str().unwrap().to_owned();
    let created = running["metadata"]["creationTimestamp"].as_str().unwrap().to_owned();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let still = namespace.get(llsd_testbed::namespace::DISTRIBUTION, "llama").await.unwrap();
    assert_eq!(condition(&still, "Preflight")["reason"], "PreflightRunning", "{still}");
    assert_eq!(deployment(&namespace).await["spec"]["template"], before);
    // The status is dated by the API server's clock, too.
    let [told, created] = [told, created].map(|time| time.parse::<jiff::Timestamp>().unwrap());
    assert!((told - created).get_seconds() < 300, "{told} {created}");
    set_preflight(&operator, PodState::Ready);
    namespace.until_condition("llama", "Preflight", "True", "PreflightPassed").await;
}

#[tokio::test]
async fn another_installation_takes_over_once_and_the_first_one_leaves_the_server_alone() {
    let Some(mut operator) = TestOperator::start(&[]).await else { return };
    let name = operator.namespace("contended").await.name;
    let namespace = Namespace { cluster: &operator.cluster, name: name.clone() };
    namespace.secret("keys", json!({"token": "a-token"})).await;
    let mut first = spec("http://first:8000");
    first["providers"]["inference"][0]["apiKey"] =
        json!({"secretKeyRef": {"name": "keys", "key": "token"}});
    namespace.distribution("llama", first.clone()).await;
    namespace.until_ready("llama").await;
    let before = deployment(&namespace).await;
    let key = operator.operator_namespace().get("Secret", KEY_SECRET).await.unwrap();

    // Another installation has a key of its own.
    operator.process.kill();
    operator.operator_namespace().delete("Secret", KEY_SECRET).await;
    operator.restart(&[]);
    let namespace = Namespace { cluster: &operator.cluster, name: name.clone() };
    let taken = namespace
        .until("Deployment", "llama", "is taken over", |now| {
            now["metadata"]["annotations"]["llamastack.io/taken-over"].is_string()
        })
        .await;
    assert_eq!(taken["spec"]["template"], before["spec"]["template"], "no pod is restarted");

    // The first one is still there.
    operator.process.kill();
    let restored = json!({"data": key["data"]});
    operator.operator_namespace().patch("Secret", KEY_SECRET, &restored).await;
    operator.restart(&[]);
    let namespace = Namespace { cluster: &operator.cluster, name };
    let contended = namespace.until_condition("llama", "Contended", "True", "TakenOver").await;
    assert_eq!(condition(&contended, "Ready")["status"], "True", "{contended}");
    namespace.until_event("llama", "Contended", "Two installations").await;
    first["providers"]["inference"][0]["endpoint"] = json!("http://second:8000");
    namespace.distribution("llama", first).await;
    namespace.quiet(&operator.user).await;
    assert_eq!(deployment(&namespace).await["spec"], taken["spec"], "it is left alone");
}
