//! A control plane starts, serves, and leaves nothing behind, however its test ends.

use std::{
    net::TcpListener,
    panic::AssertUnwindSafe,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use futures::FutureExt;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::{Api, api::PostParams};
use llsd_testkit::{ControlPlane, SharedControlPlane};
use serde_json::json;

/// For what disturbs nobody.
pub static CLUSTER: SharedControlPlane = SharedControlPlane::new(ControlPlane::builder);

fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({ "metadata": { "name": name }, "data": { "a": "b" } })).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn starts_and_serves() {
    let started = Instant::now();
    let Some(cluster) = ControlPlane::start_or_skip().await else {
        return;
    };
    println!("started in {:?}", started.elapsed());
    let version = cluster.client().apiserver_version().await.unwrap();
    if std::env::var_os("KUBEBUILDER_ASSETS").is_none() {
        let minor = format!("v{}.", cluster.kubernetes().minor());
        assert!(version.git_version.starts_with(&minor), "{version:?}");
    }

    let maps: Api<ConfigMap> = Api::namespaced(cluster.client(), "default");
    maps.create(&PostParams::default(), &config_map("one")).await.unwrap();
    let listed = cluster.kubectl(&["get", "configmap", "one", "-o", "name"], None).await.unwrap();
    assert_eq!(listed.expect_success().trim(), "configmap/one");
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_reads_what_it_is_given() {
    let Some(cluster) = CLUSTER.get_or_skip().await else { return };
    let mut map = serde_json::to_value(config_map("piped")).unwrap();
    map["apiVersion"] = json!("v1");
    map["kind"] = json!("ConfigMap");
    let applied = cluster.kubectl(&["apply", "-f", "-"], Some(&map.to_string())).await.unwrap();
    assert_eq!(applied.expect_success().trim(), "configmap/piped created");
    let refused = cluster.kubectl(&["get", "configmap", "other"], None).await.unwrap();
    assert!(!refused.success());
    assert!(refused.stderr.contains("NotFound"), "{}", refused.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_at_once_do_not_meet() {
    let (one, two) = tokio::join!(ControlPlane::start_or_skip(), ControlPlane::start());
    let Some(one) = one else {
        return;
    };
    let two = two.unwrap();
    let here: Api<ConfigMap> = Api::namespaced(one.client(), "default");
    let there: Api<ConfigMap> = Api::namespaced(two.client(), "default");
    here.create(&PostParams::default(), &config_map("here")).await.unwrap();
    assert!(here.get_opt("here").await.unwrap().is_some());
    assert!(there.get_opt("here").await.unwrap().is_none());
    // The certificates of one authority are worth nothing to the other.
    let mut stranger = one.config_for("admin", &["system:masters"]);
    stranger.cluster_url = two.url().parse().unwrap();
    let stranger = kube::Client::try_from(stranger).unwrap();
    assert!(stranger.apiserver_version().await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_without_rights_is_refused() {
    let Some(cluster) = CLUSTER.get_or_skip().await else { return };
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client_for("nobody", &[]), "default");
    let refused = maps.create(&PostParams::default(), &config_map("one")).await.unwrap_err();
    let kube::Error::Api(status) = refused else {
        panic!("{refused}");
    };
    assert_eq!(status.code, 403);
    assert!(status.message.contains("User \"nobody\" cannot create"), "{}", status.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn both_groups_of_a_certificate_count() {
    let Some(cluster) = CLUSTER.get_or_skip().await else { return };
    for groups in [["system:masters", "others"], ["others", "system:masters"]] {
        let namespaces: Api<Namespace> = Api::all(cluster.client_for("someone", &groups));
        namespaces.get("default").await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_api_server_answers_again_after_it_is_let_go() {
    let Some(mut cluster) = ControlPlane::start_or_skip().await else {
        return;
    };
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    cluster.pause_api_server().unwrap();
    let frozen = tokio::time::timeout(Duration::from_secs(1), namespaces.get("default")).await;
    assert!(frozen.is_err(), "{frozen:?}");
    cluster.resume_api_server().unwrap();
    namespaces.get("default").await.unwrap();

    let maps: Api<ConfigMap> = Api::namespaced(cluster.client(), "default");
    maps.create(&PostParams::default(), &config_map("kept")).await.unwrap();
    cluster.restart_api_server().await.unwrap();
    maps.get("kept").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_fails_shows_the_log() {
    // Where the programs cannot be had, this test would see another error.
    if CLUSTER.get_or_skip().await.is_none() {
        return;
    }
    let started = ControlPlane::builder().api_server_flag("--no-such-flag").start().await;
    let error = format!("{:#}", started.unwrap_err());
    assert!(error.contains("kube-apiserver ended with"), "{error}");
    assert!(error.contains("unknown flag: --no-such-flag"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_stays_taken_is_given_up_on() {
    if CLUSTER.get_or_skip().await.is_none() {
        return;
    }
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let started =
        ControlPlane::builder().api_server_flag(format!("--secure-port={port}")).start().await;
    let error = format!("{:#}", started.unwrap_err());
    assert!(error.contains("address already in use"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_after_drop() {
    let builder = ControlPlane::builder().with_controller_manager();
    let Some(cluster) = builder.start_or_skip().await else {
        return;
    };
    let (ids, dir) = (cluster.process_ids(), cluster.dir().to_owned());
    assert_eq!(ids.len(), 4);
    assert!(ids.iter().all(|id| runs(*id)) && dir.is_dir());
    drop(cluster);
    assert_nothing_left(&ids, &dir);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_after_a_panic() {
    let mut seen: Option<(Vec<u32>, PathBuf)> = None;
    let test = async {
        let cluster = ControlPlane::start_or_skip().await?;
        seen = Some((cluster.process_ids(), cluster.dir().to_owned()));
        cluster.pause_api_server().unwrap();
        let wrong = cluster.dir().is_file();
        assert!(wrong, "on purpose");
        Some(())
    };
    let ended = AssertUnwindSafe(test).catch_unwind().await;
    let Some((ids, dir)) = seen else {
        // Skipped, or failed for want of a control plane.
        return ended.map_or_else(|panic| std::panic::resume_unwind(panic), drop);
    };
    assert!(ended.is_err());
    assert_nothing_left(&ids, &dir);
}

#[test]
fn nothing_is_left_after_the_test_process_is_killed() {
    nothing_is_left_of("waits", true);
}

#[test]
fn nothing_is_left_of_a_shared_one_after_the_last_test() {
    nothing_is_left_of("ends", false);
}

/// Runs the program `short_lived`, a process with a shared control plane that waits or ends.
#[track_caller]
fn nothing_is_left_of(how_it_ends: &str, kill: bool) {
    let says = tempfile::tempdir().unwrap();
    let says = says.path().join("says");
    let program = env!("CARGO_BIN_EXE_short_lived");
    let mut victim =
        Command::new(program).arg(how_it_ends).arg(&says).stdout(Stdio::null()).spawn().unwrap();
    if kill {
        while !says.is_file() && victim.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(50));
        }
        victim.kill().unwrap();
    }
    let status = victim.wait().unwrap();
    let Ok(said) = std::fs::read_to_string(&says) else {
        // Skipped, which it has said itself.
        return assert!(status.success());
    };
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    let ids: Vec<u32> = serde_json::from_value(said["ids"].clone()).unwrap();
    let dir: PathBuf = serde_json::from_value(said["dir"].clone()).unwrap();
    assert_eq!((ids.len(), dir.is_absolute()), (3, true));
    let ended = Instant::now();
    while ended.elapsed() < Duration::from_secs(5)
        && (dir.exists() || ids.iter().any(|id| runs(*id)))
    {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_nothing_left(&ids, &dir);
}

/// A zombie runs no longer: it waits for a parent that may not be ours.
fn runs(id: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest);
    state.is_some_and(|state| !state.starts_with(['Z', 'X']))
}

#[track_caller]
fn assert_nothing_left(ids: &[u32], dir: &Path) {
    let left: Vec<_> = ids.iter().filter(|id| runs(**id)).collect();
    assert!(left.is_empty(), "still running: {left:?}");
    assert!(!dir.exists(), "{} is still there", dir.display());
}
