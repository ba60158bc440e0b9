//! Kinds of others, with the definitions that their projects publish as Go modules.

use std::path::PathBuf;

use llsd_testkit::ControlPlane;
use serde_json::Value;
use tokio::process::Command;

use crate::operator::access::eventually;

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

/// Installs `HTTPRoute` and `Route`; why not, where they cannot be had.
pub async fn define_routes(cluster: &ControlPlane) -> Result<(), String> {
    for (module, file) in DEFINITIONS {
        let folder = module_folder(module).await.map_err(|why| format!("{module}: {why}"))?;
        define(cluster, &folder.join(file)).await;
    }
    Ok(())
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

async fn define(cluster: &ControlPlane, file: &std::path::Path) {
    let text = std::fs::read_to_string(file).unwrap();
    let mut definition: Value = serde_saphyr::from_str(&text).unwrap();
    // Groups of the Kubernetes project ask for it, and these have it; the other does not need it.
    definition["metadata"]["annotations"]["api-approved.kubernetes.io"] =
        "unapproved, a test".into();
    let args = ["apply", "--server-side", "-f", "-"];
    cluster.kubectl(&args, Some(&definition.to_string())).await.unwrap().expect_success();
    let (group, plural) = (&definition["spec"]["group"], &definition["spec"]["names"]["plural"]);
    let url = format!("/apis/{}/v1/{}", group.as_str().unwrap(), plural.as_str().unwrap());
    let client = cluster.client();
    eventually("the new kind is served", async || {
        let request = http::Request::get(&url).body(vec![]).unwrap();
        client.request::<Value>(request).await.is_ok()
    })
    .await;
}
