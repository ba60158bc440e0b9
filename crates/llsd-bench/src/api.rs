//! What the bench writes as a user would: resources, and objects that the operator does not own.

use std::fmt;
use std::ops::Range;

use futures::{TryStreamExt, stream};
use http::Request;
use kube::Client;
use llsd_plan::facts::Facts;
use llsd_plan::plan::Planning;
use serde_json::{Value, json};

use crate::CONCURRENCY;

/// Requests as they go over the wire.
#[derive(Clone)]
pub struct Api {
    client: Client,
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Api")
    }
}

/// Where the resources of a namespace are, in a version.
pub fn resources(version: &str, namespace: &str) -> String {
    format!("/apis/llamastack.io/{version}/namespaces/{namespace}/llamastackdistributions")
}

/// A starter with one provider, whose key is in a Secret that all share.
pub fn resource(namespace: &str, number: usize) -> Value {
    json!({
        "apiVersion": "llamastack.io/v1alpha2",
        "kind": "LlamaStackDistribution",
        "metadata": {"name": format!("server-{number}"), "namespace": namespace},
        "spec": {
            "distribution": {"name": "starter"},
            "providers": {"inference": {
                "provider": "vllm",
                "endpoint": "http://vllm:8000",
                "apiKey": {"secretKeyRef": {"name": "keys", "key": "token"}},
            }},
        },
    })
}

/// The same in the words of v1alpha1, which other operators read.
pub fn resource_v1alpha1(namespace: &str, number: usize) -> Value {
    let token = json!({"secretKeyRef": {"name": "keys", "key": "token"}});
    json!({
        "apiVersion": "llamastack.io/v1alpha1",
        "kind": "LlamaStackDistribution",
        "metadata": {"name": format!("server-{number}"), "namespace": namespace},
        "spec": {
            "replicas": 1,
            "server": {
                "distribution": {"name": "starter"},
                "containerSpec": {
                    "port": 8321,
                    "env": [
                        {"name": "VLLM_URL", "value": "http://vllm:8000/v1"},
                        {"name": "VLLM_API_TOKEN", "valueFrom": token},
                    ],
                },
            },
        },
    })
}

impl Api {
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    pub async fn post(&self, uri: &str, object: &Value) -> anyhow::Result<Value> {
        let request = Request::post(uri).header("Content-Type", "application/json");
        Ok(self.client.request(request.body(serde_json::to_vec(object)?)?).await?)
    }

    /// Server-side apply, as the operator writes.
    pub async fn apply(&self, uri: &str, object: &Value) -> anyhow::Result<Value> {
        let uri = format!("{uri}?fieldManager=bench&force=true");
        let request = Request::patch(uri).header("Content-Type", "application/apply-patch+yaml");
        Ok(self.client.request(request.body(serde_json::to_vec(object)?)?).await?)
    }

    /// A merge patch.
    pub async fn patch(&self, uri: &str, change: &Value) -> anyhow::Result<Value> {
        let request = Request::patch(uri).header("Content-Type", "application/merge-patch+json");
        Ok(self.client.request(request.body(serde_json::to_vec(change)?)?).await?)
    }

    /// What is served under a path, as text.
    pub async fn text(&self, uri: &str) -> anyhow::Result<String> {
        Ok(self.client.request_text(Request::get(uri).body(Vec::new())?).await?)
    }

    pub async fn list(&self, uri: &str) -> anyhow::Result<Value> {
        Ok(self.client.request(Request::get(uri).body(Vec::new())?).await?)
    }

    pub async fn delete_all(&self, uri: &str) -> anyhow::Result<()> {
        let request = Request::delete(uri).body(Vec::new())?;
        self.client.request::<Value>(request).await?;
        Ok(())
    }

    pub async fn secret(&self, namespace: &str) -> anyhow::Result<()> {
        let secret = json!({"metadata": {"name": "keys"}, "stringData": {"token": "value"}});
        self.post(&format!("/api/v1/namespaces/{namespace}/secrets"), &secret).await?;
        Ok(())
    }

    pub async fn create_resource(&self, namespace: &str, number: usize) -> anyhow::Result<Value> {
        self.post(&resources("v1alpha2", namespace), &resource(namespace, number)).await
    }

    pub async fn create_resources(&self, namespace: &str, count: usize) -> anyhow::Result<()> {
        self.post_resources(&resources("v1alpha2", namespace), namespace, 0..count).await
    }

    /// Other resources than those that are there, which are admitted and not stored.
    pub async fn try_resources(&self, namespace: &str, count: usize) -> anyhow::Result<()> {
        let uri = format!("{}?dryRun=All", resources("v1alpha2", namespace));
        self.post_resources(&uri, namespace, count..2 * count).await
    }

    async fn post_resources(
        &self,
        uri: &str,
        namespace: &str,
        numbers: Range<usize>,
    ) -> anyhow::Result<()> {
        stream::iter(numbers.map(Ok))
            .try_for_each_concurrent(CONCURRENCY, async |number| {
                self.post(uri, &resource(namespace, number)).await.map(drop)
            })
            .await
    }

    /// So many Secrets and so many ConfigMaps of so many bytes.
    pub async fn create_unrelated(
        &self,
        namespace: &str,
        count: usize,
        bytes: usize,
    ) -> anyhow::Result<()> {
        let text = "x".repeat(bytes);
        let kinds = [("secrets", "stringData"), ("configmaps", "data")];
        stream::iter((0..count).flat_map(|number| kinds.map(|kind| (number, kind))).map(Ok))
            .try_for_each_concurrent(CONCURRENCY, async |(number, (plural, field))| {
                let name = format!("unrelated-{number}");
                let object = json!({"metadata": {"name": name}, field: {"text": text}});
                self.post(&format!("/api/v1/namespaces/{namespace}/{plural}"), &object).await?;
                Ok(())
            })
            .await
    }
}

/// What the operator plans for a resource as the API server returned it.
pub fn planned(resource: &Value) -> Vec<Value> {
    let mut facts = Facts {
        owner_uid: resource["metadata"]["uid"].as_str().map(str::to_owned),
        ..Facts::default()
    };
    facts.image.unavailable = Some("not asked".to_owned());
    match llsd_plan::plan::parse_and_plan(resource, &facts) {
        Planning::Planned(plan) => plan.objects.manifests(),
        other => panic!("the resource of the bench is not planned: {other:#?}"),
    }
}
