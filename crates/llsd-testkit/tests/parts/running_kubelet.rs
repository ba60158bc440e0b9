//! Pods really run: their processes see exactly the files, variables and neighbours that their
//! specs describe, and nothing of them is left behind.

use std::{collections::BTreeSet, fmt::Debug, fs, path::Path, time::Duration};

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, ContainerStatus, PersistentVolumeClaim, Pod, Secret, Service},
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use llsd_testkit::{ControlPlane, ImageStandIn, OpenAiStub, RunningKubelet, SharedControlPlane};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::{
    sync::OnceCell,
    time::{Instant, sleep},
};

static CLUSTER: SharedControlPlane =
    SharedControlPlane::new(|| ControlPlane::builder().with_controller_manager());

/// Answers any path with what it sees of itself, and counts its starts in a file that it is told.
const SERVER: &str = r#"
import http.server, json, os, signal, socket, sys, urllib.request

signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))

def read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError as error:
        return type(error).__name__

def seen():
    return {
        "env": dict(os.environ),
        "arguments": sys.argv[1:],
        "config": read("/etc/llama-stack/config.yaml"),
        "left out": read("/etc/llama-stack/other.yaml"),
        "from init": read("/shared/note"),
        "starts": len(read("/.llama/starts")),
        "ids": [os.getuid(), os.getgid(), os.getgroups(), os.getpid()],
        "hostname": socket.gethostname(),
        "home of the host": os.path.exists("/root/.bashrc") or os.listdir("/home") != [],
        "writable config": os.access("/etc/llama-stack", os.W_OK),
    }

class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/stub":
            body = urllib.request.urlopen("http://vllm:8000/v1/models").read()
        else:
            body = json.dumps(seen()).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"got " + body)

with open("/.llama/starts", "a") as file:
    file.write("x")
http.server.ThreadingHTTPServer(("", 8321), Answer).serve_forever()
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_runs_with_its_files_and_variables_and_rolls_to_others() {
    let Some((cluster, kubelet, namespace)) = running().await else { return };
    let client = cluster.client();
    for (name, text) in [("config-1", "version: 1"), ("config-2", "version: 2")] {
        create::<ConfigMap>(
            &client,
            &namespace,
            json!({
                "metadata": { "name": name },
                "data": { "run.yaml": text, "other.yaml": "not mounted" },
            }),
        )
        .await;
    }
    create::<Secret>(
        &client,
        &namespace,
        json!({ "metadata": { "name": "creds" }, "stringData": { "token": "sk-1", "X": "from" } }),
    )
    .await;
    create::<PersistentVolumeClaim>(
        &client,
        &namespace,
        json!({ "metadata": { "name": "state" }, "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": { "requests": { "storage": "1Gi" } },
        }}),
    )
    .await;
    create::<Service>(
        &client,
        &namespace,
        json!({ "metadata": { "name": "web-service" }, "spec": {
            "selector": { "app": "web" }, "ports": [{ "port": 80, "targetPort": "http" }],
        }}),
    )
    .await;
    create::<Deployment>(&client, &namespace, web("config-1")).await;
    let first = until(&client, &namespace, "the pod is ready", async || {
        let pods = pods(&client, &namespace).await;
        pods.iter().find(|pod| is_ready(pod)).map(ResourceExt::name_any)
    })
    .await;

    let address = kubelet.address(&namespace, &first, 8321).unwrap();
    let seen = get(&format!("http://{address}/")).await;
    assert_eq!(seen["config"], "version: 1", "{seen}");
    assert_eq!(seen["left out"], "FileNotFoundError");
    assert_eq!(seen["writable config"], false);
    assert_eq!(seen["from init"], "made by init sk-1");
    assert_eq!(seen["arguments"], json!(["sk-1", "$(NOBODY)", "$(TOKEN)"]));
    assert_eq!(seen["hostname"], first.as_str());
    assert_eq!(seen["home of the host"], false);
    let ids = seen["ids"].as_array().unwrap();
    assert_eq!((&ids[0], &ids[1], &ids[3]), (&json!(1001), &json!(0), &json!(1)));
    let env = seen["env"].as_object().unwrap();
    assert_eq!(env["TOKEN"], "sk-1");
    assert_eq!(env["ALL_X"], "from");
    assert_eq!(env["POD"], first.as_str());
    assert_eq!(env["URL"], "http://sk-1");
    assert_eq!(env["OF_THE_IMAGE"], "yes");
    let names: BTreeSet<&str> = env.keys().map(String::as_str).collect();
    let expected =
        ["ALL_X", "ALL_token", "HOSTNAME", "OF_THE_IMAGE", "PATH", "POD", "TOKEN", "URL"];
    let python = BTreeSet::from(["LC_CTYPE"]);
    assert_eq!(&names - &python, BTreeSet::from(expected), "nothing of this process is passed on");

    // The other file, in a rolling update: both pods hold the same port for a while.
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), &namespace);
    let patch = Patch::Merge(web("config-2"));
    deployments.patch("web", &PatchParams::default(), &patch).await.unwrap();
    let second = until(&client, &namespace, "another pod is the only one", async || {
        let pods = pods(&client, &namespace).await;
        let [pod] = pods.as_slice() else { return None };
        (pod.name_any() != first && is_ready(pod)).then(|| pod.name_any())
    })
    .await;
    assert_eq!(kubelet.address(&namespace, &first, 8321), None);
    let seen = get(&format!("{}/{namespace}/web-service/", kubelet.front())).await;
    assert_eq!(seen["hostname"], second.as_str());
    assert_eq!(seen["config"], "version: 2");
    assert_eq!(seen["starts"], 2, "what is on the claim outlives the pod");

    let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), &namespace);
    until(&client, &namespace, "the claim is bound", async || {
        let phase = claims.get("state").await.unwrap().status?.phase?;
        (phase == "Bound").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_reach_what_they_are_let_and_services_are_reached_from_outside() {
    let Some((cluster, kubelet, namespace)) = running().await else { return };
    let client = cluster.client();
    create::<Service>(
        &client,
        &namespace,
        json!({ "metadata": { "name": "web-service" }, "spec": {
            "selector": { "app": "web" }, "ports": [{ "port": 8321 }],
        }}),
    )
    .await;
    create::<Pod>(
        &client,
        &namespace,
        bare_pod("web", &json!({ "command": ["python3", "-c", SERVER] })),
    )
    .await;
    ready(&client, &namespace, "web").await;

    let front = format!("{}/{namespace}/web-service", kubelet.front());
    assert_eq!(
        kubelet.server_url_template().replace("{namespace}", &namespace).replace("{name}", "web"),
        front,
    );
    let stub = OpenAiStub::start(&["a-model"]).await.unwrap();
    let target = stub.url().trim_start_matches("http://").parse().unwrap();
    kubelet.let_pods_reach("vllm", 8000, target).unwrap();
    let models = until(&client, &namespace, "the running pod reaches the stub", async || {
        let answer = reqwest::get(format!("{front}/stub")).await.ok()?;
        serde_json::from_str::<Value>(&answer.text().await.ok()?).ok()
    })
    .await;
    assert_eq!(models["data"][0]["id"], "a-model");

    let posted = reqwest::Client::new().post(format!("{front}/x?y=1")).body("body").send();
    assert_eq!(posted.await.unwrap().text().await.unwrap(), "got body");
    let address = kubelet.service(&namespace, "web-service").unwrap();
    assert_eq!(kubelet.service(&namespace, "web-service").unwrap(), address);
    assert_eq!(get(&format!("http://{address}/")).await["hostname"], "web");
    let unknown = reqwest::get(format!("{}/{namespace}/unknown/", kubelet.front())).await.unwrap();
    assert_eq!(unknown.status().as_u16(), 503);
}

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
            let told = waiting.reason.as_deref() == Some(reason);
            (told && waiting.message?.contains(message)).then_some(())
        })
        .await;
    };
    waits("absent", "ErrImagePull", "example.com/unknown").await;
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
async fn deletion_ends_the_processes_and_leaves_nothing_on_the_machine() {
    let builder = ControlPlane::builder().with_controller_manager();
    let Some(cluster) = builder.start_or_skip().await else { return };
    let Some(kubelet) = cluster.running_kubelet_or_skip(images).await else { return };
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

/// One control plane and one stand-in for the tests that leave pods behind, and a namespace for
/// each.
async fn running() -> Option<(&'static ControlPlane, &'static RunningKubelet, String)> {
    static KUBELET: OnceCell<Option<RunningKubelet>> = OnceCell::const_new();
    let cluster = CLUSTER.get_or_skip().await?;
    let kubelet = KUBELET.get_or_init(|| cluster.running_kubelet_or_skip(images));
    let kubelet = kubelet.await.as_ref()?;
    let namespace = cluster.namespace("running").await.unwrap();
    Some((cluster, kubelet, namespace))
}

fn images(name: &str) -> Option<ImageStandIn> {
    let image = || ImageStandIn::python().unwrap().with_env("OF_THE_IMAGE", "yes");
    (name == "example.com/web").then(image)
}

fn web(config_map: &str) -> Value {
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
fn bare_pod(name: &str, container: &Value) -> Value {
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

async fn create<K>(client: &Client, namespace: &str, object: Value)
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
    K: Clone + Debug + DeserializeOwned + Serialize,
{
    let api: Api<K> = Api::namespaced(client.clone(), namespace);
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
}

async fn pods(client: &Client, namespace: &str) -> Vec<Pod> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    pods.list(&ListParams::default()).await.unwrap().items
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|met| met.type_ == "Ready" && met.status == "True")
}

async fn ready(client: &Client, namespace: &str, name: &str) {
    let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
    until(client, namespace, "the pod is ready", async || {
        is_ready(&api.get(name).await.unwrap()).then_some(())
    })
    .await;
}

/// The status of a pod's only container.
async fn container(client: &Client, namespace: &str, name: &str) -> Option<ContainerStatus> {
    let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
    api.get(name).await.unwrap().status?.container_statuses?.pop()
}

async fn get(url: &str) -> Value {
    let text = reqwest::get(url).await.unwrap().text().await.unwrap();
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("{url}: {text}"))
}

/// What `happened` answers in the end.
async fn until<T>(
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
fn mounts() -> String {
    fs::read_to_string("/proc/self/mounts").unwrap()
}

/// The command lines of all processes of a group, the dead ones that nobody asked after included.
fn commands(group: u32) -> Vec<String> {
    all_processes().filter(|(of, _)| *of == group).map(|(_, command)| command).collect()
}

/// Group and command line of all processes.
fn all_processes() -> impl Iterator<Item = (u32, String)> {
    fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let folder = entry.ok()?.path();
        let stat = fs::read_to_string(folder.join("stat")).ok()?;
        // The name in parentheses may hold anything.
        let group = stat.rsplit_once(')')?.1.split_whitespace().nth(2)?.parse().ok()?;
        let command = fs::read(folder.join("cmdline")).ok()?;
        Some((group, String::from_utf8_lossy(&command).replace('\0', " ")))
    })
}
