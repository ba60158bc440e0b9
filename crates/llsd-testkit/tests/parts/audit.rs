//! The requests of one user are counted exactly.

use std::collections::BTreeMap;

use futures::StreamExt;
use k8s_openapi::api::{coordination::v1::Lease, core::v1::ConfigMap};
use kube::{
    Api, Client,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchParams},
};
use serde_json::json;

use crate::control_plane::CLUSTER;

fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({ "metadata": { "name": name } })).unwrap()
}

async fn work(client: Client) {
    let maps: Api<ConfigMap> = Api::namespaced(client, "default");
    for number in 0..7 {
        let name = format!("map-{number}");
        maps.create(&PostParams::default(), &config_map(&name)).await.unwrap();
    }
    for number in 0..5 {
        let change = Patch::Merge(json!({ "data": { "n": number.to_string() } }));
        maps.patch("map-0", &PatchParams::default(), &change).await.unwrap();
    }
    for _ in 0..3 {
        maps.get("map-0").await.unwrap();
    }
    maps.list(&ListParams::default()).await.unwrap();
    maps.delete("map-1", &DeleteParams::default()).await.unwrap();
    // Refused, and still asked.
    maps.get("no-such-map").await.unwrap_err();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_users_requests_are_counted_by_verb() {
    let Some(cluster) = CLUSTER.get_or_skip().await else { return };
    tokio::join!(work(cluster.client_for("counted", &["system:masters"])), async {
        let other: Api<ConfigMap> = Api::namespaced(cluster.client(), "kube-public");
        other.create(&PostParams::default(), &config_map("other")).await.unwrap();
    });
    let requests = cluster.audit().requests_of("counted").await.unwrap();
    let expected = [("create", 7), ("delete", 1), ("get", 4), ("list", 1), ("patch", 5)];
    assert_eq!(requests.by_verb(), BTreeMap::from(expected));
    assert_eq!((requests.writes().len(), requests.reads().len()), (13, 5));
    assert_eq!(requests.by_verb_and_resource()["create configmaps"], 7);
    let not_found = requests.only(|request| request.code == 404);
    assert_eq!(not_found.iter().next().unwrap().name, "no-such-map");

    let admin = cluster.audit().requests_of("admin").await.unwrap();
    let admin = admin.only(|request| request.namespace == "kube-public");
    assert_eq!(admin.by_verb(), BTreeMap::from([("create", 1)]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mark_divides_what_was_before_from_what_came_after() {
    let Some(cluster) = CLUSTER.get_or_skip().await else { return };
    let client = cluster.client_for("operator", &["system:masters"]);
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    maps.create(&PostParams::default(), &config_map("before")).await.unwrap();
    let mark = cluster.audit().mark().await.unwrap();
    let at_rest = cluster.audit().requests_of("operator").await.unwrap();
    assert!(at_rest.since(mark).is_empty());

    let leases: Api<Lease> = Api::namespaced(client, "default");
    let lease = serde_json::from_value(json!({ "metadata": { "name": "leader" } })).unwrap();
    leases.create(&PostParams::default(), &lease).await.unwrap();
    // One request, of which the start and the end are recorded.
    let watch = maps.watch(&WatchParams::default().timeout(1), "0").await.unwrap();
    watch.for_each(async |_| {}).await;

    let after = cluster.audit().requests_of("operator").await.unwrap().since(mark);
    assert_eq!(after.by_verb(), BTreeMap::from([("create", 1), ("watch", 1)]));
    assert!(after.except_leases().writes().is_empty());
    assert!(after.except_leases().except_watches().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn subresources_are_told_apart() {
    let Some(cluster) = CLUSTER.get_or_skip().await else { return };
    let client = cluster.client_for("deployer", &["system:masters"]);
    let maps: Api<k8s_openapi::api::apps::v1::Deployment> = Api::namespaced(client, "default");
    let deployment = serde_json::from_value(json!({
        "metadata": { "name": "web" },
        "spec": {
            "selector": { "matchLabels": { "app": "web" } },
            "template": {
                "metadata": { "labels": { "app": "web" } },
                "spec": { "containers": [{ "name": "server", "image": "server" }] },
            },
        },
    }));
    maps.create(&PostParams::default(), &deployment.unwrap()).await.unwrap();
    let status = Patch::Merge(json!({ "status": { "readyReplicas": 1, "replicas": 1 } }));
    maps.patch_status("web", &PatchParams::default(), &status).await.unwrap();
    let requests = cluster.audit().requests_of("deployer").await.unwrap();
    let expected = [("create deployments", 1), ("patch deployments/status", 1)];
    let expected = expected.map(|(key, count)| (key.to_owned(), count));
    assert_eq!(requests.by_verb_and_resource(), BTreeMap::from(expected));
}
