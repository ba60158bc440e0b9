//! On a real API server: the fingerprint of a live object is that of the applied one exactly as
//! long as applying it would change nothing.

mod changes;
mod custom_kinds;
mod schemas;
mod takeover;

use kube::Client;
use llsd_plan::fingerprint::{Fingerprint, of_desired, of_live};
use llsd_testkit::{ControlPlane, SharedControlPlane};
use serde_json::{Value, json};

use crate::planned::{api_of, apply, everything, is_of_others};

static CLUSTER: SharedControlPlane = SharedControlPlane::new(ControlPlane::builder);

const OWNER: &str = "3c2f7a52-4a6e-4f1c-9d5e-0a1b2c3d4e5f";

#[tokio::test]
async fn every_object_of_every_case_is_recognised_once_it_is_applied() {
    let Some(cluster) = CLUSTER.get_or_skip().await else { return };
    let client = cluster.client();
    let mut recognised = 0;
    for owner in [None, Some(OWNER)] {
        for (about, objects) in everything(owner) {
            let namespace = cluster.namespace("case").await.unwrap();
            for object in objects.into_iter().filter(|object| !is_of_others(object)) {
                // Planned only where nothing is known of the cluster; it cannot be read back.
                if object.get("stringData").is_some() {
                    continue;
                }
                let object = within(&namespace, object);
                recognise(&client, &about, &object).await;
                recognised += 1;
            }
        }
    }
    assert!(recognised > 1000, "{recognised}");
}

/// What an API server has left out of its answers or written in its own way.
#[tokio::test]
async fn values_that_kubernetes_rewrites_are_recognised() {
    let Some(cluster) = CLUSTER.get_or_skip().await else { return };
    let text = include_str!("rewritten.yaml");
    let namespace = cluster.namespace("rewritten").await.unwrap();
    let objects: Vec<Value> = serde_saphyr::from_str(text).unwrap();
    for object in objects {
        recognise(&cluster.client(), "rewritten.yaml", &within(&namespace, object)).await;
    }
}

/// Applies an object that is not there yet, and compares the answer and what is read back.
async fn recognise(client: &Client, about: &str, object: &Value) {
    let applied = apply(client, object).await.unwrap_or_else(|why| panic!("{about}: {why}"));
    let applied = serde_json::to_value(applied).unwrap();
    assert_eq!(of_live(&applied), Some(of_desired(object)), "{about}: {object}\n{applied}");
    let read = live(client, object).await;
    assert_eq!(of_live(&read), Some(of_desired(object)), "{about}: {object}\n{read}");
}

fn within(namespace: &str, mut object: Value) -> Value {
    object["metadata"]["namespace"] = json!(namespace);
    object
}

/// The object as it is now.
async fn live(client: &Client, object: &Value) -> Value {
    let name = object["metadata"]["name"].as_str().unwrap();
    serde_json::to_value(api_of(client, object).get(name).await.unwrap()).unwrap()
}

async fn live_fingerprint(client: &Client, object: &Value) -> Option<Fingerprint> {
    of_live(&live(client, object).await)
}

/// A JSON patch by another manager.
async fn patch_as(client: &Client, manager: &str, object: &Value, operations: &Value) -> Value {
    let name = object["metadata"]["name"].as_str().unwrap();
    let url = api_of(client, object).resource_url().to_owned();
    let request = http::Request::patch(format!("{url}/{name}?fieldManager={manager}"))
        .header("Content-Type", "application/json-patch+json")
        .body(serde_json::to_vec(operations).unwrap())
        .unwrap();
    let patched = client.request(request).await;
    patched.unwrap_or_else(|why| panic!("{operations} on {object}: {why}"))
}
