//! How long the API server takes for the writes alone: a client without watches, cache or status
//! makes the resources and writes their planned objects in the same order.

use std::time::{Duration, Instant};

use futures::{TryStreamExt, stream};
use llsd_plan::objects::{ObjectKind, start_program};
use serde_json::Value;

use crate::CONCURRENCY;
use crate::api::{Api, planned, resources};

fn collection(object: &Value, namespace: &str) -> String {
    let version = object["apiVersion"].as_str().unwrap_or("v1");
    let root = if version == "v1" { "/api/v1".into() } else { format!("/apis/{version}") };
    let kind = ObjectKind::ALL.iter().find(|kind| object["kind"] == kind.name());
    let plural = kind.map(|kind| kind.plural()).unwrap_or_default();
    format!("{root}/namespaces/{namespace}/{plural}")
}

/// Measures, and clears away.
pub async fn measure(api: &Api, namespace: &str, count: usize) -> anyhow::Result<Duration> {
    // Planning is no part of it.
    let mut sample = crate::api::resource(namespace, 0);
    sample["metadata"]["uid"] = "uid".into();
    sample["metadata"]["generation"] = 1.into();
    let kinds: Vec<String> =
        planned(&sample).iter().map(|object| collection(object, namespace)).collect();
    let plans: Vec<Vec<Value>> = (0..count)
        .map(|number| {
            let mut resource = crate::api::resource(namespace, number);
            resource["metadata"]["uid"] = "uid".into();
            resource["metadata"]["generation"] = 1.into();
            let mut objects = planned(&resource);
            // What the resources of a namespace share is written once.
            let is_shared = |object: &Value| {
                object["metadata"]["name"].as_str().is_some_and(start_program::is_copy)
            };
            objects.retain(|object| number == 0 || !is_shared(object));
            objects
        })
        .collect();
    let begun = Instant::now();
    stream::iter(plans.iter().enumerate().map(Ok))
        .try_for_each_concurrent(CONCURRENCY, async |(number, objects)| {
            api.create_resource(namespace, number).await?;
            for object in objects {
                let name = object["metadata"]["name"].as_str().unwrap_or_default();
                api.apply(&format!("{}/{name}", collection(object, namespace)), object).await?;
            }
            anyhow::Ok(())
        })
        .await?;
    let took = begun.elapsed();
    for kind in kinds {
        api.delete_all(&kind).await?;
    }
    api.delete_all(&resources("v1alpha2", namespace)).await?;
    Ok(took)
}
