//! One malformed stored object does not stop a guarded watch of the others.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt;
use kube::Api;
use kube::core::DeserializeGuard;
use kube::runtime::{WatchStreamExt, watcher};
use llsd_api::v1alpha2::LlamaStackDistribution;
use llsd_testkit::ControlPlane;
use serde_json::json;

use crate::cluster::{NAMESPACE, create_when_served, repository, resource};

#[tokio::test]
async fn one_malformed_object_does_not_stop_the_watch_of_the_others() {
    let test = "one_malformed_object_does_not_stop_the_watch_of_the_others";
    let Some(cluster) = ControlPlane::start_or_skip(test).await else { return };
    store_malformed(&cluster).await;
    let path = repository("deploy/crd.yaml");
    let args = ["apply", "--server-side", "--force-conflicts", "-f", path.to_str().unwrap()];
    cluster.kubectl(&args, None).await.unwrap().expect_success();
    let good = resource("good", &json!({"distribution": {"name": "starter"}})).to_string();
    create_when_served(&cluster, &good).await;

    let objects: Api<DeserializeGuard<LlamaStackDistribution>> =
        Api::namespaced(cluster.client(), NAMESPACE);
    let mut seen: BTreeMap<String, bool> = BTreeMap::new();
    let mut watch = watcher(objects, watcher::Config::default()).touched_objects().boxed();
    let later = resource("later", &json!({"distribution": {"name": "starter"}})).to_string();
    let all_seen = async {
        while seen.len() < 3 {
            let object = watch.next().await.unwrap().unwrap().0;
            match object {
                Ok(read) => seen.insert(read.metadata.name.unwrap(), true),
                Err(unread) => seen.insert(unread.metadata.name.unwrap(), false),
            };
            if seen.len() == 2 {
                cluster
                    .kubectl(&["create", "-f", "-"], Some(&later))
                    .await
                    .unwrap()
                    .expect_success();
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(30), all_seen).await.expect("the watch went on");
    let expected = [("bad", false), ("good", true), ("later", true)];
    assert_eq!(seen, expected.map(|(name, read)| (name.to_owned(), read)).into());
}

/// An object that the real schema would refuse, stored while the CRD had none.
async fn store_malformed(cluster: &ControlPlane) {
    let mut crd = llsd_api::crd::manifest();
    crd["spec"]["versions"] = json!([{
        "name": "v1alpha2",
        "served": true,
        "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
    }]);
    let args = ["create", "-f", "-"];
    cluster.kubectl(&args, Some(&crd.to_string())).await.unwrap().expect_success();
    let spec = json!({"distribution": {"name": "starter"}, "networking": {"port": "not a number"}});
    create_when_served(cluster, &resource("bad", &spec).to_string()).await;
}
