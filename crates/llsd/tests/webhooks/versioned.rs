//! Requests for resources in either version, with what the API server says beside its answer.

use http::{Method, Request};
use kube::Client;
use kube::client::Body;
use serde_json::Value;

use llsd_cases::files::yaml_files;

/// The resources of one namespace.
#[derive(Clone)]
pub struct Versioned {
    client: Client,
    namespace: String,
}

/// An answer, whatever it is.
#[derive(Debug)]
pub struct Answer {
    pub code: u16,
    pub warnings: Vec<String>,
    pub body: Value,
}

impl Answer {
    /// The body of an answer that is no refusal.
    pub fn expect(self, what: &str) -> Value {
        assert!(self.code < 300, "{what}: {self:?}");
        self.body
    }
}

impl Versioned {
    pub fn new(client: Client, namespace: &str) -> Self {
        Self { client, namespace: namespace.to_owned() }
    }

    pub async fn send(&self, method: Method, version: &str, rest: &str, body: &Value) -> Answer {
        self.send_as("application/json", method, version, rest, body).await
    }

    pub async fn send_as(
        &self,
        content_type: &str,
        method: Method,
        version: &str,
        rest: &str,
        body: &Value,
    ) -> Answer {
        let uri = format!(
            "/apis/llamastack.io/{version}/namespaces/{}/llamastackdistributions{rest}",
            self.namespace
        );
        let request = Request::builder().method(method).uri(uri);
        let bytes = if body.is_null() { Vec::new() } else { serde_json::to_vec(body).unwrap() };
        let request = request.header("Content-Type", content_type).body(Body::from(bytes)).unwrap();
        let answer = self.client.send(request).await.unwrap();
        let code = answer.status().as_u16();
        let warnings = answer.headers().get_all("warning").iter();
        let warnings = warnings.map(|warning| warning.to_str().unwrap().to_owned()).collect();
        let bytes = answer.into_body().collect_bytes().await.unwrap();
        let body = serde_json::from_slice(&bytes).unwrap_or_default();
        Answer { code, warnings, body }
    }

    pub async fn create(&self, version: &str, object: &Value) -> Value {
        self.send(Method::POST, version, "", object).await.expect("create")
    }

    pub async fn get(&self, version: &str, name: &str) -> Value {
        self.send(Method::GET, version, &format!("/{name}"), &Value::Null).await.expect("get")
    }

    pub async fn replace(&self, version: &str, name: &str, object: &Value) -> Answer {
        self.send(Method::PUT, version, &format!("/{name}"), object).await
    }

    pub async fn merge(&self, version: &str, name: &str, patch: &Value) -> Answer {
        let (kind, rest) = ("application/merge-patch+json", format!("/{name}"));
        self.send_as(kind, Method::PATCH, version, &rest, patch).await
    }

    pub async fn delete(&self, version: &str, name: &str) {
        let rest = format!("/{name}");
        self.send(Method::DELETE, version, &rest, &Value::Null).await.expect("delete");
    }

    pub async fn list(&self, version: &str) -> Result<Vec<Value>, Answer> {
        let mut answer = self.send(Method::GET, version, "", &Value::Null).await;
        match answer.body["items"].take() {
            Value::Array(items) if answer.code == 200 => Ok(items),
            _ => Err(answer),
        }
    }
}

/// Both versions, the one of this object first.
pub fn versions(object: &Value) -> [&'static str; 2] {
    if object["apiVersion"] == "llamastack.io/v1alpha1" {
        ["v1alpha1", "v1alpha2"]
    } else {
        ["v1alpha2", "v1alpha1"]
    }
}

/// Every sample resource, by file name.
pub fn samples() -> Vec<(String, Value)> {
    let mut samples = Vec::new();
    for path in yaml_files("deploy/samples") {
        let text = std::fs::read_to_string(&path).unwrap();
        for document in serde_saphyr::from_multiple::<Value>(&text).unwrap() {
            if document["kind"] == "LlamaStackDistribution" {
                let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
                samples.push((name, document));
            }
        }
    }
    assert!(samples.len() >= 35, "{} samples", samples.len());
    samples
}

/// An object without what every write changes.
pub fn lasting(mut object: Value) -> Value {
    for field in ["managedFields", "resourceVersion"] {
        object["metadata"].as_object_mut().unwrap().shift_remove(field);
    }
    object
}
