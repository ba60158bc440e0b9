//! A namespace in which a test reads and writes many times a second, over one connection.

use kube::Client;
use llsd_testkit::ControlPlane;
use serde_json::Value;

#[derive(Clone)]
pub struct Namespace {
    client: Client,
    pub name: String,
}

impl Namespace {
    pub async fn make(cluster: &ControlPlane) -> Self {
        let name = cluster.namespace("crash").await.unwrap();
        Self { client: cluster.client(), name }
    }

    /// An object, as `deployments/name`, or a list.
    pub async fn get(&self, api: &str, path: &str) -> Option<Value> {
        let uri = format!("{api}/namespaces/{}/{path}", self.name);
        match self.client.request(http::Request::get(uri).body(Vec::new()).unwrap()).await {
            Ok(found) => Some(found),
            Err(kube::Error::Api(status)) if status.code == 404 => None,
            Err(error) => panic!("{path}: {error}"),
        }
    }

    /// Server-side apply, as `kubectl apply` sends it.
    pub async fn apply(&self, api: &str, path: &str, object: &Value) {
        self.patch(
            api,
            &format!("{path}?fieldManager=a-person&force=true"),
            "apply-patch+yaml",
            object,
        )
        .await;
    }

    /// A merge patch.
    pub async fn merge(&self, api: &str, path: &str, object: &Value) {
        self.patch(api, path, "merge-patch+json", object).await;
    }

    async fn patch(&self, api: &str, path: &str, kind: &str, object: &Value) {
        let request = http::Request::patch(format!("{api}/namespaces/{}/{path}", self.name))
            .header("Content-Type", format!("application/{kind}"))
            .body(serde_json::to_vec(object).unwrap())
            .unwrap();
        self.client.request::<Value>(request).await.unwrap();
    }
}
