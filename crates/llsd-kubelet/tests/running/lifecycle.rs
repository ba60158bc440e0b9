//! Containers are started again, in order, and ended; nothing of them is left behind.

use std::path::Path;

use k8s_openapi::api::core::v1::{Pod, Service};
use kube::{
    Api,
    api::{DeleteParams, ListParams},
};
use llsd_kubelet::RunningKubelet;
use llsd_testkit::ControlPlane;
use serde_json::json;

use crate::setup::{
    SERVER, all_processes, bare_pod, commands, container, create, images, mounts, ready, running,
    until,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_crashing_command_is_started_again_and_its_last_words_are_shown() {
    let Some((cluster, kubelet, namespace)) = running().await else { return };
    let client = cluster.client();
    let commands = [
        ("crash", json!(["python3", "-c", "import sys; print('no such model'); sys.exit(3)"])),
        ("unknown", json!(["no-such-program"])),
    ];
    let silent = ("silent", commands[0].1.clone());
    for (name, command) in commands.into_iter().chain([silent]) {
        let mut pod = bare_pod(name, &json!({ "command": command, "readinessProbe": null }));
        if name != "silent" {
            let policy = "FallbackToLogsOnError".into();
            pod["spec"]["containers"][0]["terminationMessagePolicy"] = policy;
        }
        create::<Pod>(&client, &namespace, pod).await;
    }
    let absent = bare_pod("absent", &json!({ "image": "example.com/unknown" }));
    create::<Pod>(&client, &namespace, absent).await;
    let variable = json!({
        "name": "X", "valueFrom": { "secretKeyRef": { "name": "missing", "key": "x" } },
    });
    let unset = bare_pod("unset", &json!({ "command": ["true"], "env": [variable] }));
    create::<Pod>(&client, &namespace, unset).await;

    let crashed = async |name: &str| {
        until(&client, &namespace, "the pod is in a crash loop", async || {
            let status = container(&client, &namespace, name).await?;
            let waiting = status.state.as_ref()?.waiting.clone()?;
            let looping = waiting.reason.as_deref() == Some("CrashLoopBackOff");
            (looping && status.restart_count > 1).then_some(status)
        })
        .await
    };
    let status = crashed("crash").await;
    assert!(!status.ready);
    let last = status.last_state.and_then(|state| state.terminated).unwrap();
    assert_eq!((last.exit_code, last.message.as_deref()), (3, Some("no such model\n")));
    assert!(kubelet.log(&namespace, "crash", "main").contains("no such model\nno such model\n"));
    let last = crashed("unknown").await.last_state.and_then(|state| state.terminated).unwrap();
    assert!(last.message.unwrap().contains("No such file or directory"));
    assert_eq!(last.reason.as_deref(), Some("StartError"));
    let last = crashed("silent").await.last_state.and_then(|state| state.terminated).unwrap();
    assert_eq!((last.exit_code, last.message.unwrap_or_default()), (3, String::new()));

    let waits = async |name: &str, reason: &str, message: &str| {
        until(&client, &namespace, reason, async || {
            let waiting = container(&client, &namespace, name).await?.state?.waiting?;
            let is_reason = waiting.reason.as_deref() == Some(reason);
            (is_reason && waiting.message?.contains(message)).then_some(())
        })
        .await;
    };
    waits("absent", "ImagePullBackOff", "example.com/unknown").await;
    waits("unset", "CreateContainerConfigError", "secret \"missing\" not found").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sidecar_starts_first_and_a_failing_liveness_probe_restarts() {
    let Some((cluster, kubelet, namespace)) = running().await else { return };
    let client = cluster.client();
    let beside = "import signal, sys, time; time.sleep(1); open('/shared/up', 'w').close(); \
         signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); signal.pause()";
    let main = "import os, signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); \
         print('the sidecar is up:', os.path.exists('/shared/up'), flush=True); signal.pause()";
    let shared = json!([{ "name": "shared", "mountPath": "/shared" }]);
    let is_up = json!({
        "exec": { "command": ["test", "-e", "/shared/up"] }, "periodSeconds": 1,
    });
    let never =
        json!({ "exec": { "command": ["false"] }, "periodSeconds": 1, "failureThreshold": 2 });
    let mut pod = bare_pod(
        "two",
        &json!({
            "command": ["python3", "-c", main], "volumeMounts": shared,
            "readinessProbe": is_up, "livenessProbe": never,
        }),
    );
    pod["spec"]["volumes"] = json!([{ "name": "shared", "emptyDir": {} }]);
    pod["spec"]["initContainers"] = json!([{
        "name": "beside", "image": "example.com/web", "restartPolicy": "Always",
        "command": ["python3", "-c", beside], "volumeMounts": shared,
        "startupProbe": { "failureThreshold": 60, "exec": is_up["exec"], "periodSeconds": 1 },
    }]);
    create::<Pod>(&client, &namespace, pod).await;
    until(&client, &namespace, "the container was restarted", async || {
        let status = container(&client, &namespace, "two").await?;
        (status.restart_count > 0).then_some(())
    })
    .await;
    let log = kubelet.log(&namespace, "two", "main");
    assert!(log.starts_with("the sidecar is up: True\n"), "{log}");
    let pods: Api<Pod> = Api::namespaced(client.clone(), &namespace);
    let status = pods.get("two").await.unwrap().status.unwrap();
    let sidecar = status.init_container_statuses.unwrap().pop().unwrap();
    assert_eq!((sidecar.started, sidecar.restart_count), (Some(true), 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_is_to_stop_serves_until_its_hook_ends_and_connections_leave_it_late() {
    let Some((cluster, kubelet, namespace)) = running().await else { return };
    let client = cluster.client();
    let labels = json!({ "app": "web" });
    let sleeps = |seconds: u32| json!({ "preStop": { "sleep": { "seconds": seconds } } });
    for (name, lifecycle) in [("kept", sleeps(1)), ("drained", sleeps(6)), ("cut", json!({}))] {
        let container = json!({ "command": ["python3", "-c", SERVER], "lifecycle": lifecycle });
        let mut pod = bare_pod(name, &container);
        pod["metadata"]["labels"] = labels.clone();
        create::<Pod>(&client, &namespace, pod).await;
    }
    let service = json!({
        "metadata": { "name": "web" }, "spec": { "selector": labels, "ports": [{ "port": 8321 }] },
    });
    create::<Service>(&client, &namespace, service).await;
    for name in ["kept", "drained", "cut"] {
        ready(&client, &namespace, name).await;
    }
    let url = format!("http://{}", kubelet.service(&namespace, "web").unwrap());
    let client_without_pool = reqwest::Client::builder().pool_max_idle_per_host(0).build().unwrap();
    let asked = async || {
        let answer = client_without_pool.get(&url).send().await.ok()?.text().await.ok()?;
        let answer: serde_json::Value = serde_json::from_str(&answer).ok()?;
        Some(answer["hostname"].as_str()?.to_owned())
    };
    until(&client, &namespace, "connections are made to all of them", async || {
        let mut names = Vec::new();
        for _ in 0..6 {
            names.extend(asked().await);
        }
        names.sort();
        names.dedup();
        (names == ["cut", "drained", "kept"]).then_some(())
    })
    .await;

    let pods: Api<Pod> = Api::namespaced(client.clone(), &namespace);
    pods.delete("drained", &DeleteParams::default()).await.unwrap();
    until(&client, &namespace, "the drained pod is gone", async || {
        let gone = pods.get_opt("drained").await.unwrap().is_none();
        let answered = asked().await;
        assert!(answered.is_some(), "a connection failed although the pod drained");
        gone.then_some(())
    })
    .await;
    pods.delete("cut", &DeleteParams::default()).await.unwrap();
    until(&client, &namespace, "a connection meets a pod that has ended", async || {
        asked().await.is_none().then_some(())
    })
    .await;
    until(&client, &namespace, "one pod is left", async || {
        let mut answers = Vec::new();
        for _ in 0..4 {
            answers.push(asked().await);
        }
        answers.iter().all(|answer| answer.as_deref() == Some("kept")).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deletion_ends_the_processes_and_leaves_nothing_on_the_machine() {
    let builder = ControlPlane::builder().with_controller_manager();
    let Some(cluster) = builder.start_or_skip().await else { return };
    let Some(kubelet) = RunningKubelet::start_or_skip(&cluster, images).await else { return };
    let (client, namespace) = (cluster.client(), cluster.namespace("ending").await.unwrap());
    let before = mounts();
    let command = json!(["python3", "-c", SERVER]);
    create::<Pod>(&client, &namespace, bare_pod("web", &json!({ "command": command }))).await;
    // Deaf to TERM, and with a child that has left its process group.
    let deaf = "import signal, subprocess, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); \
         subprocess.Popen(['sleep', '1000.125'], start_new_session=True); time.sleep(1000)";
    let deaf = json!({ "command": ["python3", "-c", deaf], "readinessProbe": null });
    let mut pod = bare_pod("deaf", &deaf);
    pod["spec"]["terminationGracePeriodSeconds"] = 1.into();
    create::<Pod>(&client, &namespace, pod).await;
    ready(&client, &namespace, "web").await;
    ready(&client, &namespace, "deaf").await;
    let group = kubelet.process_group();
    let sleeps = || all_processes().any(|(_, command)| command.starts_with("sleep 1000.125"));
    until(&client, &namespace, "the child runs", async || sleeps().then_some(())).await;
    assert_eq!(mounts(), before, "mounts of pods are not seen on the machine");
    assert!(!Path::new("/.llama").exists() && !Path::new("/etc/llama-stack").exists());

    let pods: Api<Pod> = Api::namespaced(client.clone(), &namespace);
    for name in ["web", "deaf"] {
        pods.delete(name, &DeleteParams::default()).await.unwrap();
    }
    until(&client, &namespace, "the pods are gone", async || {
        pods.list(&ListParams::default()).await.unwrap().items.is_empty().then_some(())
    })
    .await;
    let watchdog_alone: Vec<String> = commands(group);
    assert!(watchdog_alone.len() == 1, "{watchdog_alone:?}");
    assert!(!sleeps(), "a child that has left the group is gone, too");

    // And the stand-in's own end does the same without asking.
    create::<Pod>(&client, &namespace, bare_pod("last", &json!({ "command": command }))).await;
    until(&client, &namespace, "its process runs", async || {
        (commands(group).len() > 1).then_some(())
    })
    .await;
    drop(kubelet);
    assert_eq!(commands(group), Vec::<String>::new());
    assert_eq!(mounts(), before);
    assert!(pods.get("last").await.is_ok());
}
