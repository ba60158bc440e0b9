//! A control plane whose pods run, the objects that the tests make there, and what they look at.

use std::{fmt::Debug, fs, time::Duration};

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::{
    Api, Client, Resource,
    api::{ListParams, PostParams},
};
use llsd_kubelet::{ImageStandIn, RunningKubelet};
use llsd_testkit::{ControlPlane, SharedControlPlane};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::{
    sync::OnceCell,
    time::{Instant, sleep},
};

static CLUSTER: SharedControlPlane =
    SharedControlPlane::new(|| ControlPlane::builder().with_controller_manager());

/// Answers any path with what it sees of itself, and counts its starts in a file.
pub(crate) const SERVER: &str = include_str!("server.py");

/// One control plane and one stand-in for the tests that leave pods behind, and a namespace for
/// each.
pub(crate) async fn running() -> Option<(&'static ControlPlane, &'static RunningKubelet, String)> {
    static KUBELET: OnceCell<Option<RunningKubelet>> = OnceCell::const_new();
    let cluster = CLUSTER.get_or_skip().await?;
    let kubelet = KUBELET.get_or_init(|| RunningKubelet::start_or_skip(cluster, images));
    let kubelet = kubelet.await.as_ref()?;
    let namespace = cluster.namespace("running").await.unwrap();
    Some((cluster, kubelet, namespace))
}

pub(crate) fn images(name: &str) -> Option<ImageStandIn> {
    let image = || ImageStandIn::python().unwrap().with_env("OF_THE_IMAGE", "yes");
    (name == "example.com/web").then(image)
}

pub(crate) fn web(config_map: &str) -> Value {
    let token = json!({ "secretKeyRef": { "name": "creds", "key": "token" } });
    let note = "open('/shared/note', 'w').write('made by init $(TOKEN)')";
    let labels = json!({ "app": "web" });
    json!({
        "metadata": { "name": "web" },
        "spec": {
            "replicas": 1,
            "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": {
                "automountServiceAccountToken": false,
                "securityContext": {
                    "runAsUser": 1001, "runAsGroup": 0, "fsGroup": 1001, "runAsNonRoot": true,
                },
                "initContainers": [{
                    "name": "prepare", "image": "example.com/web",
                    "command": ["python3", "-c", note],
                    "env": [{ "name": "TOKEN", "valueFrom": token }],
                    "volumeMounts": [{ "name": "shared", "mountPath": "/shared" }],
                }],
                "containers": [{
                    "name": "main", "image": "example.com/web",
                    "command": ["python3", "-c", SERVER],
                    "args": ["$(TOKEN)", "$(NOBODY)", "$$(TOKEN)"],
                    "envFrom": [{ "prefix": "ALL_", "secretRef": { "name": "creds" } }],
                    "env": [
                        { "name": "TOKEN", "valueFrom": token },
                        { "name": "URL", "value": "http://$(TOKEN)" },
                        { "name": "POD", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } },
                    ],
                    "ports": [{ "name": "http", "containerPort": 8321 }],
                    "readinessProbe": { "httpGet": { "path": "/", "port": "http" }, "periodSeconds": 1 },
                    "securityContext": { "allowPrivilegeEscalation": false },
                    "volumeMounts": [
                        { "name": "config", "mountPath": "/etc/llama-stack/", "readOnly": true },
                        { "name": "shared", "mountPath": "/shared", "readOnly": true },
                        { "name": "state", "mountPath": "/.llama" },
                    ],
                }],
                "volumes": [
                    { "name": "config", "configMap": {
                        "name": config_map, "items": [{ "key": "run.yaml", "path": "config.yaml" }],
                    }},
                    { "name": "shared", "emptyDir": {} },
                    { "name": "state", "persistentVolumeClaim": { "claimName": "state" } },
                ],
            }},
        },
    })
}

/// A pod of one container, with what `container` says besides.
pub(crate) fn bare_pod(name: &str, container: &Value) -> Value {
    let mut main = json!({
        "name": "main", "image": "example.com/web",
        "readinessProbe": { "httpGet": { "port": 8321 }, "periodSeconds": 1 },
        "volumeMounts": [{ "name": "state", "mountPath": "/.llama" }],
    });
    for (key, value) in container.as_object().unwrap() {
        main[key] = value.clone();
    }
    json!({
        "metadata": { "name": name, "labels": { "app": name } },
        "spec": { "containers": [main], "volumes": [{ "name": "state", "emptyDir": {} }] },
    })
}

pub(crate) async fn create<K>(client: &Client, namespace: &str, object: Value)
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
    K: Clone + Debug + DeserializeOwned + Serialize,
{
    let api: Api<K> = Api::namespaced(client.clone(), namespace);
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
}

pub(crate) async fn pods(client: &Client, namespace: &str) -> Vec<Pod> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    pods.list(&ListParams::default()).await.unwrap().items
}

pub(crate) fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|met| met.type_ == "Ready" && met.status == "True")
}

pub(crate) async fn ready(client: &Client, namespace: &str, name: &str) {
    let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
    until(client, namespace, "the pod is ready", async || {
        is_ready(&api.get(name).await.unwrap()).then_some(())
    })
    .await;
}

/// The status of a pod's only container.
pub(crate) async fn container(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Option<ContainerStatus> {
    let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
    api.get(name).await.unwrap().status?.container_statuses?.pop()
}

pub(crate) async fn get(url: &str) -> Value {
    let text = reqwest::get(url).await.unwrap().text().await.unwrap();
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("{url}: {text}"))
}

/// What `happened` answers in the end.
pub(crate) async fn until<T>(
    client: &Client,
    namespace: &str,
    what: &str,
    happened: impl AsyncFn() -> Option<T>,
) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = happened().await {
            return found;
        }
        if started.elapsed() > Duration::from_mins(1) {
            let statuses: Vec<_> =
                pods(client, namespace).await.into_iter().map(|pod| pod.status).collect();
            panic!("not within a minute: {what}; {}", serde_json::to_string(&statuses).unwrap());
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// All that is mounted on this machine.
pub(crate) fn mounts() -> String {
    fs::read_to_string("/proc/self/mounts").unwrap()
}

/// The command lines of all processes of a group, the dead ones that nobody asked after included.
pub(crate) fn commands(group: u32) -> Vec<String> {
    all_processes().filter(|(of, _)| *of == group).map(|(_, command)| command).collect()
}

/// Group and command line of all processes.
pub(crate) fn all_processes() -> impl Iterator<Item = (u32, String)> {
    fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let folder = entry.ok()?.path();
        let stat = fs::read_to_string(folder.join("stat")).ok()?;
        // The name in parentheses may hold anything.
        let group = stat.rsplit_once(')')?.1.split_whitespace().nth(2)?.parse().ok()?;
        let command = fs::read(folder.join("cmdline")).ok()?;
        Some((group, String::from_utf8_lossy(&command).replace('\0', " ")))
    })
}
