//! Operators that serve webhooks at an address of loopback, and calls through both versions of the
//! resource, of which those through v1alpha1 need the conversion.

use std::path::PathBuf;
use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use llsd_install::{cluster_wide, names};
use llsd_testkit::ControlPlane;
use serde_json::{Value, json};

use crate::access::eventually;
use crate::install::{apply, file, install};
use crate::operator::Operator;

/// A cluster with all that is installed, and as whom operators act in it.
#[derive(Debug)]
pub struct Site {
    pub cluster: ControlPlane,
    pub user: String,
}

impl Site {
    pub async fn set() -> Option<Self> {
        let cluster = ControlPlane::start_or_skip().await?;
        let user = install(&cluster).await;
        apply(&cluster, file(&cluster_wide(), "webhook.yaml")).await;
        Some(Self { cluster, user })
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.cluster.kubeconfig_for(&self.user, &[])
    }

    /// A replica that serves at `port`, and is called at `url`.
    pub fn replica(&self, port: u16, url: u16, arguments: &[&str]) -> Operator {
        let bind = format!("--webhook-bind-address=127.0.0.1:{port}");
        let url = format!("--webhook-url=https://127.0.0.1:{url}");
        let mut all = vec![bind.as_str(), url.as_str()];
        all.extend(arguments);
        Operator::replica(&self.cluster, &self.kubeconfig(), &all)
    }

    /// An object as an administrator sees it; null where there is none.
    pub async fn get(&self, path: &str) -> Value {
        let request = Request::get(path).body(Vec::new()).unwrap();
        self.cluster.client().request(request).await.unwrap_or_default()
    }

    /// The Secret with the certificates.
    pub async fn secret(&self) -> Value {
        self.get(&secret_path()).await
    }

    /// The `caBundle` of the resource's definition and that of the validating webhook.
    pub async fn bundles(&self) -> [Value; 2] {
        let definition = self.get(&definition_path()).await;
        let webhook = self.get(&webhook_path()).await;
        [
            definition["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"].clone(),
            webhook["webhooks"][0]["clientConfig"]["caBundle"].clone(),
        ]
    }

    /// Waits until both name the same authorities, and some.
    pub async fn registered(&self) -> Value {
        eventually("the webhooks are registered", async || {
            let [one, other] = self.bundles().await;
            one.is_string() && one == other
        })
        .await;
        self.bundles().await[0].clone()
    }

    /// Sends a change as an administrator.
    pub async fn send(&self, method: Method, path: &str, kind: &str, body: &Value) {
        send(&self.cluster.client(), method, path, kind, body).await.unwrap();
    }
}

pub fn secret_path() -> String {
    format!("/api/v1/namespaces/{}/secrets/{}", names::NAMESPACE, names::WEBHOOK_SECRET)
}

pub fn definition_path() -> String {
    format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}", names::DEFINITION)
}

pub fn webhook_path() -> String {
    let group = "/apis/admissionregistration.k8s.io/v1";
    format!("{group}/validatingwebhookconfigurations/{}", names::VALIDATING_WEBHOOK)
}

pub(crate) async fn send(
    client: &Client,
    method: Method,
    path: &str,
    kind: &str,
    body: &Value,
) -> kube::Result<Value> {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request = Request::builder().method(method).uri(path).header("Content-Type", kind);
    client.request(request.body(body).unwrap()).await
}

/// A resource that is read and written through both versions.
#[allow(missing_debug_implementations, reason = "clients have none")]
pub struct Calls {
    client: Client,
    pub made: u32,
    pub failed: Vec<String>,
}

impl Calls {
    /// Makes the resource, and waits until it can be had as v1alpha1.
    pub async fn prepare(site: &Site) -> Self {
        let calls = Self { client: site.cluster.client(), made: 0, failed: Vec::new() };
        let object = json!({
            "apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution",
            "metadata": {"name": "called"}, "spec": {"distribution": {"name": "starter"}},
        });
        let path = path("v1alpha2");
        let collection = path.rsplit_once('/').unwrap().0;
        site.send(Method::POST, collection, "application/json", &object).await;
        eventually("v1alpha1 is served", async || {
            calls.call(Method::GET, "v1alpha1", &Value::Null).await.is_ok()
        })
        .await;
        calls
    }

    /// The same resource, counted apart.
    #[must_use]
    pub fn another(&self) -> Self {
        Self { client: self.client.clone(), made: 0, failed: Vec::new() }
    }

    /// Four calls: a read and a write through each version.
    pub async fn round(&mut self) {
        let round = self.made / 4;
        for (method, version, body) in [
            (Method::GET, "v1alpha1", Value::Null),
            (Method::PATCH, "v1alpha1", json!({"spec": {"replicas": 1 + round % 2}})),
            (Method::GET, "v1alpha2", Value::Null),
            (
                Method::PATCH,
                "v1alpha2",
                json!({"metadata": {"labels": {"round": round.to_string()}}}),
            ),
        ] {
            self.made += 1;
            match self.call(method.clone(), version, &body).await {
                Ok(answer) if answer["metadata"]["name"] == "called" => {}
                Ok(answer) => self.failed.push(format!("{method} {version}: {answer}")),
                Err(error) => self.failed.push(format!("{method} {version}: {error}")),
            }
        }
    }

    async fn call(&self, method: Method, version: &str, body: &Value) -> kube::Result<Value> {
        send(&self.client, method, &path(version), "application/merge-patch+json", body).await
    }

    /// Rounds until something is so; at least one.
    pub async fn until(&mut self, what: &str, mut holds: impl AsyncFnMut() -> bool) {
        let begun = tokio::time::Instant::now();
        loop {
            self.round().await;
            if holds().await {
                return;
            }
            assert!(begun.elapsed() < Duration::from_mins(2), "not within 2 minutes: {what}");
        }
    }
}

fn path(version: &str) -> String {
    format!("/apis/llamastack.io/{version}/namespaces/default/llamastackdistributions/called")
}
