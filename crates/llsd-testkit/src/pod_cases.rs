//! What a real node makes of pods: a table of cases, `pod_cases.yaml`, that a real node and its stand-in are compared with.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use futures::future::join_all;
use k8s_openapi::api::core::v1::{Event, PersistentVolumeClaim, Pod};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, Client};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::sleep;

const TABLE: &str = include_str!("pod_cases.yaml");
/// A node pulls an image, and backs off from a container that fails.
const PATIENCE: Duration = Duration::from_secs(90);
const UNBOUND: &str = "unbound immediate PersistentVolumeClaims";
const TOLD: [&str; 3] = ["FailedScheduling", "Killing", "Unhealthy"];

/// A pod, and what becomes of it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PodCase {
    pub name: String,
    /// Laid over the container.
    #[serde(default)]
    container: Map<String, Value>,
    /// Laid over the pod's spec.
    #[serde(default)]
    pod: Map<String, Value>,
    /// It has a claim, mounted at `/data`.
    #[serde(default)]
    pub claim: bool,
    seen: Value,
}

impl PodCase {
    /// All cases.
    pub fn all() -> Vec<Self> {
        serde_saphyr::from_str(TABLE).expect("the table of pods can be read")
    }

    /// Runs these pods side by side in a namespace, with this image, until each is seen as the table says; an error has
    /// all that differ.
    pub async fn run_all(
        cases: &[Self],
        client: &Client,
        namespace: &str,
        image: &str,
    ) -> anyhow::Result<()> {
        let ran = join_all(cases.iter().map(|case| case.run(client, namespace, image))).await;
        let wrong: Vec<String> =
            ran.into_iter().filter_map(Result::err).map(|error| error.to_string()).collect();
        ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
        Ok(())
    }

    /// Until it is seen as the table says; an error has what was seen last.
    async fn run(&self, client: &Client, namespace: &str, image: &str) -> anyhow::Result<()> {
        if self.claim {
            let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), namespace);
            claims.create(&PostParams::default(), &serde_json::from_value(self.claim())?).await?;
        }
        let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
        let pod = self.manifest().to_string().replace("IMAGE", image);
        pods.create(&PostParams::default(), &serde_json::from_str(&pod)?).await?;
        let begun = Instant::now();
        loop {
            let seen = self.seen(client, namespace).await?;
            if seen == self.seen {
                break;
            }
            if begun.elapsed() > PATIENCE {
                bail!("{}:\n  expected {}\n  found    {seen}", self.name, self.seen);
            }
            sleep(Duration::from_millis(300)).await;
        }
        let now = DeleteParams::default().grace_period(0);
        pods.delete(&self.name, &now).await?;
        Ok(())
    }

    fn claim(&self) -> Value {
        json!({
            "metadata": { "name": self.name },
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "",
                "resources": { "requests": { "storage": "1Gi" } },
            },
        })
    }

    fn manifest(&self) -> Value {
        let mut container = json!({ "name": "main", "image": "IMAGE" });
        let mut spec = json!({ "restartPolicy": "Never", "automountServiceAccountToken": false });
        if self.claim {
            let claim = json!({ "claimName": self.name });
            container["volumeMounts"] = json!([{ "name": "data", "mountPath": "/data" }]);
            spec["volumes"] = json!([{ "name": "data", "persistentVolumeClaim": claim }]);
        }
        lay_over(&mut container, &self.container);
        spec["containers"] = json!([container]);
        lay_over(&mut spec, &self.pod);
        json!({ "metadata": { "name": self.name }, "spec": spec })
    }

    /// What status and Events show, without what differs from run to run.
    async fn seen(&self, client: &Client, namespace: &str) -> anyhow::Result<Value> {
        let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
        let status = serde_json::to_value(pods.get(&self.name).await?.status)?;
        let events: Api<Event> = Api::namespaced(client.clone(), namespace);
        let of_pod = ListParams::default().fields(&format!("involvedObject.name={}", self.name));
        let told: BTreeSet<String> =
            events.list(&of_pod).await?.items.iter().filter_map(told).collect();
        let ip = status["podIP"].as_str().filter(|ip| !ip.is_empty()).unwrap_or("no address");
        let told: Vec<String> = told.iter().map(|told| told.replace(ip, "IP")).collect();
        let mut seen = json!({ "phase": status["phase"], "containers": containers(&status) });
        if let Some(why) = unscheduled(&status) {
            seen["unscheduled"] = why.into();
        }
        if !told.is_empty() {
            seen["events"] = told.into();
        }
        Ok(seen)
    }
}

fn lay_over(under: &mut Value, fields: &Map<String, Value>) {
    for (name, value) in fields {
        under[name] = value.clone();
    }
}

fn told(event: &Event) -> Option<String> {
    let (reason, message) = (event.reason.as_deref()?, event.message.as_deref()?);
    // The scheduler may see the pod before its claim is bound, and tries again.
    let is_shown = TOLD.contains(&reason) && !message.contains(UNBOUND);
    is_shown.then(|| format!("{reason}: {message}"))
}

fn unscheduled(status: &Value) -> Option<String> {
    let mut conditions = status["conditions"].as_array()?.iter();
    let condition =
        conditions.find(|it| it["type"] == "PodScheduled" && it["status"] == "False")?;
    let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    Some(format!("{}: {}", text("reason"), text("message")))
}

/// By name: how it ended last, what it waits for, whether it runs.
fn containers(status: &Value) -> Value {
    let lists = [&status["initContainerStatuses"], &status["containerStatuses"]];
    let all = lists.into_iter().flat_map(|list| list.as_array().into_iter().flatten());
    let shown = all.map(|it| (it["name"].as_str().unwrap_or_default().to_owned(), container(it)));
    Value::Object(shown.collect())
}

fn container(status: &Value) -> Value {
    let mut shown = json!({});
    let ends = [&status["state"]["terminated"], &status["lastState"]["terminated"]];
    let ended = ends.into_iter().find(|ended| ended.is_object());
    if let Some(ended) = ended {
        let mut end = json!({ "exitCode": ended["exitCode"], "reason": ended["reason"] });
        // The words of a runtime that cannot start a container name files of its own.
        let is_told = ended["message"].as_str().is_some_and(|message| !is_of_runtime(message));
        if is_told {
            end["message"] = ended["message"].clone();
        }
        shown["ended"] = end;
    } else if status["state"]["running"].is_object() {
        shown["running"] = true.into();
    } else {
        shown["waiting"] = status["state"]["waiting"]["reason"].clone();
    }
    if status["ready"] == true {
        shown["ready"] = true.into();
    }
    if status["restartCount"].as_i64() > Some(0) {
        shown["restarted"] = true.into();
    }
    shown
}

fn is_of_runtime(message: &str) -> bool {
    let says = |words| message.contains(words);
    message.is_empty() || says("runc create failed") || says("the container does not start")
}
