//! The kinds of others that the operator writes, with the definitions that their projects publish.

use std::path::PathBuf;

use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use serde_json::Value;
use tokio::process::Command;

use crate::access::eventually;

/// Go modules, each with the file of a definition in it.
const ROUTE: (&str, &str) = (
    "github.com/openshift/api@v0.0.0-20260420151639-34e60874783e",
    "route/v1/zz_generated.crd-manifests/routes.crd.yaml",
);
const HTTP_ROUTE: (&str, &str) = (
    "sigs.k8s.io/gateway-api@v1.5.0",
    "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml",
);
/// Of a Gateway API that has no timeouts yet.
const FIRST_HTTP_ROUTE: (&str, &str) = ("sigs.k8s.io/gateway-api@v1.0.0", HTTP_ROUTE.1);

/// Those of the Prometheus Operator that are made by the operator, or beside it.
const PROMETHEUS: &str = "github.com/prometheus-operator/prometheus-operator@v0.85.0";
const OF_PROMETHEUS: [&str; 3] = ["podmonitors", "prometheusrules", "servicemonitors"];

/// The Prometheus Operator's PodMonitors, ServiceMonitors and PrometheusRules.
pub async fn prometheus(client: &Client) -> Result<(), String> {
    for plural in OF_PROMETHEUS {
        let file = format!("example/prometheus-operator-crd/monitoring.coreos.com_{plural}.yaml");
        install(client, (PROMETHEUS, &file)).await?;
    }
    Ok(())
}

/// OpenShift's Routes.
pub async fn routes(client: &Client) -> Result<(), String> {
    install(client, ROUTE).await
}

/// The Gateway API's HTTPRoutes as well.
pub async fn both(client: &Client) -> Result<(), String> {
    routes(client).await?;
    http_routes(client).await
}

/// The Gateway API's HTTPRoutes.
pub async fn http_routes(client: &Client) -> Result<(), String> {
    install(client, HTTP_ROUTE).await
}

/// The same as the first Gateway API has them, in these versions alone.
pub async fn first_http_routes(client: &Client, served: &[&str]) -> Result<(), String> {
    let mut definition = published_definition(FIRST_HTTP_ROUTE).await?;
    for version in definition["spec"]["versions"].as_array_mut().unwrap() {
        let is_served = served.contains(&version["name"].as_str().unwrap());
        version["served"] = is_served.into();
    }
    apply(client, &definition, served[0]).await;
    Ok(())
}

/// Installs a definition and waits until it is served; why it cannot be had, if so.
async fn install(client: &Client, of_module: (&str, &str)) -> Result<(), String> {
    apply(client, &published_definition(of_module).await?, "v1").await;
    Ok(())
}

/// The definition as its project publishes it.
async fn published_definition((module, file): (&str, &str)) -> Result<Value, String> {
    let folder = module_folder(module).await.map_err(|why| format!("{module}: {why}"))?;
    let text = std::fs::read_to_string(folder.join(file)).map_err(|why| why.to_string())?;
    let mut definition: Value = serde_saphyr::from_str(&text).unwrap();
    // Groups of the Kubernetes project ask for it, and these have it; the other does not need it.
    definition["metadata"]["annotations"]["api-approved.kubernetes.io"] =
        "unapproved, a test".into();
    Ok(definition)
}

/// Applies it, and waits until a version of it is served.
async fn apply(client: &Client, definition: &Value, version: &str) {
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
    let name = definition["metadata"]["name"].as_str().unwrap();
    let parameters = PatchParams::apply("installer").force();
    api.patch(name, &parameters, &Patch::Apply(definition)).await.unwrap();
    let (group, plural) = (&definition["spec"]["group"], &definition["spec"]["names"]["plural"]);
    let (group, plural) = (group.as_str().unwrap(), plural.as_str().unwrap());
    let url = format!("/apis/{group}/{version}/{plural}");
    eventually(&format!("{url} is served"), async || {
        let request = http::Request::get(&url).body(vec![]).unwrap();
        client.request::<Value>(request).await.is_ok()
    })
    .await;
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
