//! What a report holds, read from a cluster with the user's own rights. What may not be read is said, and
//! the rest is still reported.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use http::Request;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Event, Pod, Secret};
use kube::api::{ListParams, LogParams};
use kube::{Api, Client, ResourceExt};
use llsd_api::{GROUP, PLURAL};
use llsd_plan::objects::{ObjectKind, labels};
use llsd_yaml::document;
use serde_json::Value;

use super::clean::without_secrets;
use super::object::shown;
use super::values::Values;
use crate::command::cluster_error::words;

/// Of the log of each container.
const LINES: i64 = 5000;

/// Files by name, and what could not be read.
#[derive(Default)]
pub(super) struct ReportFiles {
    pub(super) files: Vec<(String, String)>,
    pub(super) remarks: String,
    pub(super) values: Values,
    /// Whose values are looked for.
    secrets: BTreeSet<String>,
}

impl ReportFiles {
    fn remark(&mut self, what: &str, error: &kube::Error) {
        let _ = writeln!(self.remarks, "{what}: {}", words(error));
    }

    fn add(&mut self, name: String, object: Value) {
        named_secrets(&object, &mut self.secrets);
        self.files.push((name, document::manifest(&shown(object))));
    }
}

/// The resource and everything around it. If a Secret that the server reads cannot be read, its value cannot be
/// removed from the logs; they are included only with `even_unread`.
pub(super) async fn gather(
    client: &Client,
    namespace: &str,
    name: &str,
    even_unread: bool,
) -> Result<ReportFiles, kube::Error> {
    let mut gathered = ReportFiles::default();
    let path = format!("/apis/{GROUP}/v1alpha2/namespaces/{namespace}/{PLURAL}/{name}");
    gathered.add("resource.yaml".to_owned(), get(client, &path).await?);
    for kind in ObjectKind::ALL.iter().filter(|kind| kind.is_watched()) {
        objects(client, namespace, name, *kind, &mut gathered).await;
    }
    let pods = pods(client, namespace, name, &mut gathered).await;
    events(client, namespace, name, &mut gathered).await;
    if values(client, namespace, &mut gathered).await || even_unread {
        logs(client, namespace, &pods, &mut gathered).await;
    } else {
        gathered.remarks.push_str("logs are left out, because values of those Secrets may stand in them; --logs takes them in\n");
    }
    Ok(gathered)
}

async fn get(client: &Client, path: &str) -> Result<Value, kube::Error> {
    let request = Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
    client.request(request).await
}

async fn objects(
    client: &Client,
    namespace: &str,
    name: &str,
    kind: ObjectKind,
    gathered: &mut ReportFiles,
) {
    let root = if kind.group().is_empty() { "/api" } else { "/apis" };
    let path = format!(
        "{root}/{}/namespaces/{namespace}/{}?labelSelector={}={name}",
        kind.api_version(),
        kind.plural(),
        labels::INSTANCE,
    );
    match get(client, &path).await {
        Ok(mut list) => {
            for mut object in list["items"].as_array_mut().map(std::mem::take).unwrap_or_default() {
                object["kind"] = Value::from(kind.name());
                object["apiVersion"] = Value::from(kind.api_version());
                let own = object["metadata"]["name"].as_str().unwrap_or_default();
                let file = format!("objects/{}-{own}.yaml", kind.name().to_lowercase());
                gathered.add(file, object);
            }
        }
        // A cluster need not serve every kind.
        Err(kube::Error::Api(status)) if status.code == 404 => {}
        Err(error) => gathered.remark(kind.plural(), &error),
    }
}

/// The Secrets that an object refers to, wherever in it.
fn named_secrets(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                let name = match key.as_str() {
                    "secretKeyRef" | "secretRef" | "secret" => inner["name"].as_str(),
                    "secretName" => inner.as_str(),
                    _ => None,
                };
                found.extend(name.map(str::to_owned));
                named_secrets(inner, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| named_secrets(item, found)),
        _ => {}
    }
}

async fn pods(
    client: &Client,
    namespace: &str,
    name: &str,
    gathered: &mut ReportFiles,
) -> Vec<Pod> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let selected = ListParams::default().labels(&labels::selector_text(name));
    let list = match pods.list(&selected).await {
        Ok(list) => list.items,
        Err(error) => {
            gathered.remark("pods", &error);
            return Vec::new();
        }
    };
    for pod in &list {
        let object = serde_json::to_value(pod).unwrap_or_default();
        gathered.add(format!("objects/pod-{}.yaml", pod.name_any()), object);
    }
    list
}

async fn logs(client: &Client, namespace: &str, pods: &[Pod], gathered: &mut ReportFiles) {
    let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
    for pod in pods {
        let own = pod.name_any();
        let spec = pod.spec.clone().unwrap_or_default();
        let containers =
            spec.init_containers.unwrap_or_default().into_iter().chain(spec.containers);
        for container in containers.map(|container| container.name) {
            for previous in [false, true] {
                let parameters = LogParams {
                    container: Some(container.clone()),
                    previous,
                    tail_lines: Some(LINES),
                    timestamps: true,
                    ..LogParams::default()
                };
                let which = if previous { ".previous" } else { "" };
                let file = format!("logs/{own}.{container}{which}.log");
                match api.logs(&own, &parameters).await {
                    Ok(log) => gathered.files.push((file, without_secrets(&log))),
                    // Most containers never ended.
                    Err(_) if previous => {}
                    Err(error) => gathered.remark(&file, &error),
                }
            }
        }
    }
}

/// Those on the resource and on what has a name that begins with its own.
async fn events(client: &Client, namespace: &str, name: &str, gathered: &mut ReportFiles) {
    let events: Api<Event> = Api::namespaced(client.clone(), namespace);
    let list = match events.list(&ListParams::default()).await {
        Ok(list) => list,
        Err(error) => return gathered.remark("events", &error),
    };
    let mut text = String::new();
    for event in list {
        let on = event.involved_object;
        let object = on.name.unwrap_or_default();
        if object == name || object.starts_with(&format!("{name}-")) {
            let _ = writeln!(
                text,
                "{} {}/{object} {}: {}",
                event.type_.unwrap_or_default(),
                on.kind.unwrap_or_default(),
                event.reason.unwrap_or_default(),
                event.message.unwrap_or_default(),
            );
        }
    }
    gathered.files.push(("events.txt".to_owned(), without_secrets(&text)));
}

/// Read only so that they can be left out. Says whether all of them could be.
async fn values(client: &Client, namespace: &str, gathered: &mut ReportFiles) -> bool {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let mut all = true;
    for secret in std::mem::take(&mut gathered.secrets) {
        match secrets.get(&secret).await {
            Ok(found) => {
                for (key, ByteString(value)) in found.data.unwrap_or_default() {
                    gathered.values.add(&secret, &key, &value);
                }
            }
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => {
                all = false;
                let what = format!("Secret {secret}, so its values could not be looked for");
                gathered.remark(&what, &error);
            }
        }
    }
    all
}
