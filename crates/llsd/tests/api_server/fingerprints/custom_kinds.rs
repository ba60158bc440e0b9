//! The kinds of others that we write, with the definitions that their projects publish.

use std::path::PathBuf;

use kube::Client;
use llsd_testkit::skip;
use serde_json::Value;
use tokio::process::Command;

use super::{CLUSTER, OWNER, recognise, within};
use crate::planned::{apply_as, everything, is_of_others};

/// Go modules, each with the file of a definition in it.
const DEFINITIONS: [(&str, &str); 2] = [
    (
        "sigs.k8s.io/gateway-api@v1.5.0",
        "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml",
    ),
    (
        "github.com/openshift/api@v0.0.0-20260420151639-34e60874783e",
        "route/v1/zz_generated.crd-manifests/routes.crd.yaml",
    ),
];

#[tokio::test]
async fn routes_are_recognised_with_the_defaults_of_their_definitions() {
    let test = "routes_are_recognised_with_the_defaults_of_their_definitions";
    let Some(cluster) = CLUSTER.get_or_skip(test).await else { return };
    let client = cluster.client();
    for (module, file) in DEFINITIONS {
        match module_folder(module).await {
            Ok(folder) => define(&client, &folder.join(file)).await,
            Err(why) => return skip(test, &format!("{module}: {why}")),
        }
    }
    let mut recognised = 0;
    for (about, objects) in everything(Some(OWNER)) {
        for object in objects.into_iter().filter(is_of_others) {
            let namespace = cluster.namespace("routes").await.unwrap();
            recognise(&client, &about, &within(&namespace, object)).await;
            recognised += 1;
        }
    }
    assert!(recognised > 5, "{recognised}");
}

async fn module_folder(module: &str) -> Result<PathBuf, String> {
    let mut download = Command::new("go");
    download.args(["mod", "download", "-json", module]).current_dir(std::env::temp_dir());
    let output = download.output().await.map_err(|why| why.to_string())?;
    let answer: Value = serde_json::from_slice(&output.stdout).map_err(|why| why.to_string())?;
    match answer["Dir"].as_str() {
        Some(folder) => Ok(folder.into()),
        None => Err(answer["Error"].to_string()),
    }
}

/// Installs a definition and waits until it is served.
async fn define(client: &Client, file: &std::path::Path) {
    let text = std::fs::read_to_string(file).unwrap();
    let mut definition: Value = serde_saphyr::from_str(&text).unwrap();
    // Groups of the Kubernetes project ask for it, and these have it; the other does not need it.
    definition["metadata"]["annotations"]["api-approved.kubernetes.io"] =
        "unapproved, a test".into();
    apply_as(client, "installer", &definition).await.unwrap();
    let (group, plural) = (&definition["spec"]["group"], &definition["spec"]["names"]["plural"]);
    let url = format!("/apis/{}/v1/{}", group.as_str().unwrap(), plural.as_str().unwrap());
    for _ in 0..200 {
        let request = http::Request::get(&url).body(vec![]).unwrap();
        if client.request::<Value>(request).await.is_ok() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("{url} is not served after 20 s");
}
