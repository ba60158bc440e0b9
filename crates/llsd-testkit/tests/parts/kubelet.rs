//! Pods meet the fate that a test decides, and the real controllers draw their conclusions.

use std::{fmt::Debug, time::Duration};

use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        core::v1::{Namespace, Pod, Service},
        discovery::v1::EndpointSlice,
    },
    apimachinery::pkg::apis::meta::v1::LabelSelector,
};
use kube::{
    Api, Client,
    api::{DeleteParams, ListParams, PostParams},
};
use llsd_testkit::{ControlPlane, PodState};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_becomes_available_and_its_service_has_endpoints() {
    let Some(cluster) = with_controllers().await else {
        return;
    };
    let client = cluster.client();
    let _kubelet = cluster.kubelet(|_| PodState::Ready).await.unwrap();
    create::<Deployment>(&client, "default", deployment("web", 2)).await;
    create::<Service>(
        &client,
        "default",
        json!({
            "metadata": { "name": "web" },
            "spec": { "selector": { "app": "web" }, "ports": [{ "port": 80 }] },
        }),
    )
    .await;

    let deployments: Api<Deployment> = Api::namespaced(client.clone(), "default");
    until("two pods are available", async || {
        let status = deployments.get("web").await.unwrap().status?;
        (status.available_replicas == Some(2)).then_some(())
    })
    .await;
    let slices: Api<EndpointSlice> = Api::namespaced(client.clone(), "default");
    until("the service has two endpoints that are ready", async || {
        let of_web = ListParams::default().labels("kubernetes.io/service-name=web");
        let slices = slices.list(&of_web).await.unwrap();
        let endpoints = slices.items.iter().flat_map(|slice| &slice.endpoints);
        let ready = endpoints.filter(|endpoint| {
            endpoint.conditions.as_ref().and_then(|conditions| conditions.ready) == Some(true)
        });
        (ready.count() == 2).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crashing_pod_is_shown_failing_until_its_fate_changes() {
    let Some(cluster) = with_controllers().await else {
        return;
    };
    let client = cluster.client();
    let kubelet = cluster.kubelet(|_| PodState::crash_loop("no such model")).await.unwrap();
    create::<Deployment>(&client, "default", deployment("web", 1)).await;

    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");
    let crashed = until("the pod crashes", async || {
        let pod = pods.list(&ListParams::default()).await.unwrap().items.pop()?;
        pod.status?.container_statuses?.pop()
    })
    .await;
    let waiting = crashed.state.and_then(|state| state.waiting).unwrap();
    assert_eq!(waiting.reason.as_deref(), Some("CrashLoopBackOff"));
    let last = crashed.last_state.and_then(|state| state.terminated).unwrap();
    assert_eq!((last.exit_code, last.message.as_deref()), (1, Some("no such model")));
    assert!(!crashed.ready && crashed.restart_count > 0);
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), "default");
    until("the deployment counts it as unavailable", async || {
        let status = deployments.get("web").await.unwrap().status?;
        (status.unavailable_replicas == Some(1)).then_some(())
    })
    .await;

    kubelet.decide(|_| PodState::Ready);
    until("the deployment is available after all", async || {
        let status = deployments.get("web").await.unwrap().status?;
        (status.available_replicas == Some(1)).then_some(())
    })
    .await;
    let healed = pods.list(&ListParams::default()).await.unwrap().items.pop().unwrap();
    let ready = healed.status.unwrap().conditions.unwrap();
    let ready = ready.into_iter().find(|condition| condition.type_ == "Ready").unwrap();
    assert_eq!((ready.reason, ready.message), (None, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_pod_has_a_fate_of_its_own_without_any_controller() {
    let Some(cluster) = ControlPlane::start_or_skip().await else {
        return;
    };
    let kubelet = cluster
        .kubelet(|pod| match pod.metadata.name.as_deref() {
            Some("good") => PodState::Ready,
            Some("done") => PodState::Succeeded,
            Some("absent") => PodState::ImagePull { message: "no such image".into() },
            _ => PodState::NeverReady,
        })
        .await
        .unwrap();
    let client = cluster.client();
    for name in ["good", "done", "absent", "slow"] {
        create::<Pod>(
            &client,
            "default",
            json!({ "metadata": { "name": name }, "spec": pod_spec() }),
        )
        .await;
    }
    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");
    let seen = until("all pods have met their fate", async || {
        let pods = pods.list(&ListParams::default()).await.unwrap().items;
        pods.into_iter()
            .map(|pod| {
                assert!(pod.spec?.node_name.is_none_or(|node| node == kubelet.node_name()));
                let status = pod.status?;
                let container = status.container_statuses?.pop()?;
                Some((pod.metadata.name?, status.phase?, container.ready))
            })
            .collect::<Option<Vec<_>>>()
    })
    .await;
    let seen: Vec<_> = seen.iter().map(|(n, p, r)| (n.as_str(), p.as_str(), *r)).collect();
    let expected = [
        ("absent", "Pending", false),
        ("done", "Succeeded", true),
        ("good", "Running", true),
        ("slow", "Running", false),
    ];
    assert_eq!(seen, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn deletion_finishes() {
    let Some(cluster) = with_controllers().await else {
        return;
    };
    let client = cluster.client();
    let _kubelet = cluster.kubelet(|_| PodState::Ready).await.unwrap();
    let namespace = cluster.namespace("deletion").await.unwrap();
    create::<Deployment>(&client, &namespace, deployment("web", 1)).await;
    let pods: Api<Pod> = Api::namespaced(client.clone(), &namespace);
    until("the pod runs", async || {
        let pod = pods.list(&ListParams::default()).await.unwrap().items.pop()?;
        (pod.status?.phase? == "Running").then_some(())
    })
    .await;
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), &namespace);
    deployments.delete("web", &DeleteParams::foreground()).await.unwrap();
    until("pods and deployment are gone", async || {
        let pods = pods.list(&ListParams::default()).await.unwrap().items;
        let gone = pods.is_empty() && deployments.get_opt("web").await.unwrap().is_none();
        gone.then_some(())
    })
    .await;

    let namespaces: Api<Namespace> = Api::all(client);
    namespaces.delete(&namespace, &DeleteParams::default()).await.unwrap();
    until("the namespace is gone", async || {
        let left = namespaces.get_opt(&namespace).await.unwrap();
        left.is_none().then_some(())
    })
    .await;
}

async fn with_controllers() -> Option<ControlPlane> {
    let builder = ControlPlane::builder().with_controller_manager();
    builder.start_or_skip().await
}

fn pod_spec() -> Value {
    json!({ "containers": [{ "name": "server", "image": "example.com/server:1" }] })
}

fn deployment(name: &str, replicas: u32) -> Value {
    let selector = LabelSelector {
        match_labels: Some([("app".to_owned(), name.to_owned())].into()),
        ..LabelSelector::default()
    };
    json!({
        "metadata": { "name": name },
        "spec": {
            "replicas": replicas,
            "selector": selector,
            "template": { "metadata": { "labels": { "app": name } }, "spec": pod_spec() },
        },
    })
}

async fn create<K>(client: &Client, namespace: &str, object: Value)
where
    K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
        + Clone
        + Debug
        + DeserializeOwned
        + serde::Serialize,
{
    let api: Api<K> = Api::namespaced(client.clone(), namespace);
    let object = serde_json::from_value(object).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap();
}

/// Garbage collection may take a while shortly after the start, hence the long patience.
async fn until<T>(what: &str, look: impl AsyncFn() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(seen) = look().await {
            return seen;
        }
        assert!(started.elapsed() < Duration::from_mins(1), "waited in vain: {what}");
        sleep(Duration::from_millis(100)).await;
    }
}
