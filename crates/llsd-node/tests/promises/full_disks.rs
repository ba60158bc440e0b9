//! The volume that a server writes to is full: a server that cannot start is reported and recovers when there is room,
//! one that ran before answers, and a pod that exceeds the limit of a volume of its own is replaced.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use llsd_node::NodeOptions;
use llsd_node::product::Product;
use serde_json::{Value, json};

use crate::scene::{
    PATIENCE, TEAM, apply_until_ready, condition, installed, is_ready, kept, pods, resource,
    until_replaced, url,
};

#[tokio::test]
async fn a_full_volume_is_reported_and_recovers_when_there_is_room() {
    let Some(product) = installed(NodeOptions::default()).await else { return };
    let disk = small_disk(&product).await;
    a_server_that_finds_no_room_is_reported(&product, &disk).await;
    a_server_without_room_answers(&product, &disk).await;
    a_pod_that_is_evicted_is_reported(&product).await;
    product.node.stop().unwrap();
}

const FULL: &str = "full";

/// The first start of a server creates its databases.
async fn a_server_that_finds_no_room_is_reported(product: &Product, disk: &Path) {
    fill(product, disk);
    let begun = Instant::now();
    let storage = json!({"workload": {"storage": {"existingClaim": "disk"}}});
    product.apply(TEAM, &resource(FULL, storage).to_string()).await.unwrap();
    let is_reported = |resource: &Value| {
        let told = condition(resource, "Ready")["message"].as_str().unwrap_or_default();
        told.contains("OperationalError")
    };
    let told = product.until(TEAM, FULL, PATIENCE, is_reported).await.unwrap();
    println!("{}", condition(&told, "Ready")["message"]);
    let noticed = begun.elapsed().as_secs();

    let emptied = Instant::now();
    empty(product, disk);
    let ready = product.until(TEAM, FULL, PATIENCE, is_ready).await.unwrap();
    product.chat(url(&ready), "Is there room?").unwrap();
    let measured = format!(
        "reported after {noticed} s; ready {} s after there was room",
        emptied.elapsed().as_secs()
    );
    kept("A server starts on a full volume: the status reports it", begun, &measured);
}

/// A chat needs no room, and neither does a later start.
async fn a_server_without_room_answers(product: &Product, disk: &Path) {
    let begun = Instant::now();
    fill(product, disk);
    let full = product.resource(TEAM, FULL).await.unwrap();
    product.chat(url(&full), "Do you need room?").unwrap();
    let before = pods(product, FULL).await;
    product.kubectl(&["delete", &before[0], "-n", TEAM]).await.unwrap();
    until_replaced(product, FULL, &before).await;
    let new = pods(product, FULL).await.remove(0);
    product.wait(TEAM, &new, "condition=Ready").await.unwrap();
    product.until(TEAM, FULL, PATIENCE, is_ready).await.unwrap();
    product.chat(url(&full), "Do you need room to start?").unwrap();
    let measured = "the pod and the one that replaces it answer chats";
    kept("The volume of a server that ran before is full", begun, measured);
    empty(product, disk);
    product.kubectl(&["delete", "llsd", FULL, "-n", TEAM]).await.unwrap();
}

fn fill(product: &Product, disk: &Path) {
    let file = disk.join("fill");
    let fill = format!("head -c 1G /dev/zero >{} || true; df {}", file.display(), disk.display());
    assert!(product.node.run("sh", &["-c", &fill]).unwrap().contains("100%"));
}

fn empty(product: &Product, disk: &Path) {
    product.node.run("rm", &[disk.join("fill").to_str().unwrap()]).unwrap();
}

/// A file system in memory, and the claim that it is bound to.
async fn small_disk(product: &Product) -> PathBuf {
    let disk = product.node.folder().join("disk");
    let path = disk.to_str().unwrap();
    product.node.run("mkdir", &[path]).unwrap();
    let options = ["-t", "tmpfs", "-o", "size=32m,mode=0777", "disk", path];
    product.node.run("mount", &options).unwrap();
    product.add_volume("disk", &disk, "32Mi").await.unwrap();
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "disk"},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "32Mi"}},
            "storageClassName": "", "volumeName": "disk",
        },
    });
    product.apply(TEAM, &claim.to_string()).await.unwrap();
    disk
}

/// A volume of the pod has a limit, and the kubelet evicts a pod that exceeds it.
async fn a_pod_that_is_evicted_is_reported(product: &Product) {
    const NAME: &str = "evicted";
    let scratch = json!({"workload": {"overrides": {
        "volumes": [{"name": "scratch", "emptyDir": {"sizeLimit": "16Mi"}}],
        "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
    }}});
    let ready = apply_until_ready(product, &resource(NAME, scratch)).await;
    product.chat(url(&ready), "Is there room?").unwrap();

    let begun = Instant::now();
    let pod = pods(product, NAME).await.remove(0);
    let fill = "head -c 64M /dev/zero >/scratch/fill";
    product
        .kubectl(&["exec", &pod, "-n", TEAM, "-c", "llama-stack", "--", "sh", "-c", fill])
        .await
        .unwrap();
    let is_reported = |resource: &Value| condition(resource, "Ready")["status"] == "False";
    let told = product.until(TEAM, NAME, PATIENCE, is_reported).await.unwrap();
    println!("{:#}", told["status"]["conditions"]);
    let noticed = begun.elapsed().as_secs();
    while pods(product, NAME).await.len() == 1 {
        assert!(begun.elapsed() < PATIENCE, "nothing takes its place");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let ready = product.until(TEAM, NAME, PATIENCE, is_ready).await.unwrap();
    product.chat(url(&ready), "Is there room again?").unwrap();
    let measured = format!("noticed after {noticed} s");
    kept(
        "A pod is evicted because its own volume is full, and another one replaces it",
        begun,
        &measured,
    );
}
