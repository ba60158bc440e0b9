//! An installation of the operator v0.9 is taken over under a client that asks without a pause. What stands in for v0.9
//! is a program of ours that does as v0.9 does: the objects, names and managers of fields are v0.9's, the program is not.

use std::time::{Duration, Instant};

use llsd_install::names::{CONFIG_MAP, DEFINITION, LEASE, NAMESPACE, OPERATOR};
use llsd_node::NodeOptions;
use llsd_node::product::Product;
use serde_json::{Value, json};

use crate::scene::{
    PATIENCE, bare, condition, is_ready, kept, nothing_failed_in, v1alpha1, write_config,
};

/// Where v0.9's servers run: its pods say nothing of their security, which `restricted` would refuse.
const OLD: &str = "old";
const PLAIN: &str = "plain";
const STORED: &str = "stored";
/// The version that v0.9 knows.
const V1ALPHA1: &str = "llamastackdistributions.v1alpha1.llamastack.io";
/// The lease is good for 15 s, and candidates look at it every few seconds.
const LEASE_RUNS_OUT: Duration = Duration::from_secs(30);

#[tokio::test]
async fn what_v0_9_ran_is_taken_over_without_a_restart_or_a_lost_request() {
    let Some(product) = bare(NodeOptions::default()).await else { return };
    v0_9_runs_two_servers(&product).await;
    let url = format!("http://{PLAIN}-service.{OLD}.svc.cluster.local:8321");
    product.start_client(OLD, &url).await.unwrap();
    nothing_failed_in(&product, OLD).await;

    let begun = Instant::now();
    let before = Running::now(&product).await;
    install_over_v0_9(&product).await;
    let installed = begun.elapsed().as_secs();
    until_v1alpha2_works(&product).await;
    let converted = begun.elapsed().as_secs();
    for name in [PLAIN, STORED] {
        product.until(OLD, name, PATIENCE, waits).await.unwrap();
    }
    assert_eq!(Running::now(&product).await, before);
    let asked = nothing_failed_in(&product, OLD).await;
    let measured = format!(
        "rolled out after {installed} s; v1alpha2 works after {converted} s; {asked} requests, none lost"
    );
    kept("Servers of v0.9 (a stand-in) are taken over: no pod restarts", begun, &measured);

    v0_9_is_gone(&product).await;
    both_versions_are_served(&product, &before).await;
    what_is_stored_is_migrated(&product, &before).await;
    what_waits_is_approved(&product, &before).await;
    a_deleted_server_leaves_its_claim(&product).await;
    product.node.stop().unwrap();
}

/// v0.9 with its definition, one server with a volume and one without.
async fn v0_9_runs_two_servers(product: &Product) {
    old_apply(product, &definition(product).await.to_string()).await;
    product.kubectl(&["wait", "--for=condition=Established", "crd", DEFINITION]).await.unwrap();
    let install = include_str!("v0_9/install.yaml");
    let install = install.replace("STARTER", product.server_image());
    old_apply(product, &install).await;
    let program = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "v0-9", "namespace": NAMESPACE},
        "data": {"main.py": include_str!("v0_9/main.py")},
    });
    old_apply(product, &program.to_string()).await;
    product.configure(NAMESPACE).await.unwrap();

    product.kubectl(&["create", "namespace", OLD]).await.unwrap();
    product.start_model(OLD).await.unwrap();
    write_config(product, OLD).await;
    let folder = product.node.folder().join("volume");
    product.node.run("mkdir", &["--mode=0777", folder.to_str().unwrap()]).unwrap();
    product.add_volume("volume", &folder, "10Gi").await.unwrap();
    let with_storage = v1alpha1(STORED, json!({"storage": {"size": "1Gi"}}));
    for resource in [v1alpha1(PLAIN, json!({})), with_storage] {
        product.apply(OLD, &resource.to_string()).await.unwrap();
    }
    for name in [PLAIN, STORED] {
        let deployment = format!("deployment/{name}");
        for (object, condition) in [
            (&deployment, "create"),
            (&deployment, "condition=Available"),
            (&format!("{V1ALPHA1}/{name}"), "jsonpath={.status.phase}=Ready"),
        ] {
            product.wait(OLD, object, condition).await.unwrap();
        }
    }
}

/// As docs/install.md says: kubectl manages a field of the definition that v0.9 brought.
async fn install_over_v0_9(product: &Product) {
    let files = product.llsd(&["manifests", "--image", product.operator_image()]).unwrap();
    let apply = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
    let done = product.node.kubectl(&apply, Some(&files)).await.unwrap();
    assert!(done.success(), "{}", done.stderr);
    product.configure(NAMESPACE).await.unwrap();
}

/// v0.9 does not give its lease back. The replica that leads once it has run out tells the API server whom to trust.
async fn until_v1alpha2_works(product: &Product) {
    let begun = Instant::now();
    while let Err(error) = product.resource(OLD, PLAIN).await {
        assert!(begun.elapsed() < LEASE_RUNS_OUT, "{error:#}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// The definition of v0.9: v1alpha1 alone, stored, and no conversion.
async fn definition(product: &Product) -> Value {
    let text = product.llsd(&["crd"]).unwrap();
    let print = ["create", "--dry-run=client", "-o", "json", "-f", "-"];
    let printed = product.node.kubectl(&print, Some(&text)).await.unwrap();
    let mut definition: Value = serde_json::from_str(&printed.stdout).unwrap();
    let spec = definition["spec"].as_object_mut().unwrap();
    spec.remove("conversion");
    let versions = spec["versions"].as_array_mut().unwrap();
    versions.retain(|version| version["name"] == "v1alpha1");
    versions[0]["storage"] = json!(true);
    definition
}

/// As v0.9's page says: from the client's side.
async fn old_apply(product: &Product, objects: &str) {
    let done = product.node.kubectl(&["apply", "-f", "-"], Some(objects)).await.unwrap();
    assert!(done.success(), "{}", done.stderr);
}

/// What must stay as it is: Deployments with their templates, and pods with their restarts.
#[derive(Debug, PartialEq)]
struct Running {
    deployments: Vec<Value>,
    pods: Vec<Value>,
}

impl Running {
    async fn now(product: &Product) -> Self {
        let of_servers = ["-n", OLD, "-l", "app=llama-stack", "-o", "json"];
        let pods = list(product, &[&["get", "pods"], &of_servers[..]].concat()).await;
        let pods = pods.iter().map(|pod| {
            let restarts = &pod["status"]["containerStatuses"][0]["restartCount"];
            json!([pod["metadata"]["uid"], restarts])
        });
        let ours = ["get", "deployments", PLAIN, STORED, "-n", OLD, "-o", "json"];
        let deployments = list(product, &ours).await;
        let kept = |it: &Value| json!([it["metadata"]["uid"], it["spec"]["template"]]);
        Self { deployments: deployments.iter().map(kept).collect(), pods: pods.collect() }
    }
}

async fn list(product: &Product, get: &[&str]) -> Vec<Value> {
    let listed: Value = serde_json::from_str(&product.kubectl(get).await.unwrap()).unwrap();
    listed["items"].as_array().unwrap().clone()
}

/// Taken over, ready, and with the template of v0.9.
fn waits(resource: &Value) -> bool {
    is_ready(resource) && condition(resource, "UpdatePending")["status"] == "True"
}

/// Of its pods and its rights nothing is left that docs/install.md does not have removed, and the lease has moved on.
async fn v0_9_is_gone(product: &Product) {
    let operators = ["get", "pods", "-n", NAMESPACE, "-o", "json"];
    let pods = list(product, &operators).await;
    for pod in pods.iter().filter(|pod| pod["metadata"]["deletionTimestamp"].is_null()) {
        let container = &pod["spec"]["containers"][0];
        assert_eq!(container["image"], product.operator_image(), "{:#}", pod["spec"]);
        assert!(container["securityContext"]["runAsUser"].is_null(), "{container:#}");
        assert!(container["resources"]["limits"]["cpu"].is_null(), "{container:#}");
    }
    let holder = ["get", "lease", LEASE, "-n", NAMESPACE, "-o", "jsonpath={.spec.holderIdentity}"];
    let holder = product.kubectl(&holder).await.unwrap();
    assert!(
        pods.iter().any(|pod| holder.starts_with(pod["metadata"]["name"].as_str().unwrap())),
        "{holder}"
    );
    let service = format!("service/{OPERATOR}-metrics-service");
    let ports = ["get", &service, "-n", NAMESPACE, "-o", "jsonpath={.spec.ports[*].name}"];
    assert_eq!(product.kubectl(&ports).await.unwrap(), "metrics");
    for kind in [
        "clusterrolebinding/llama-stack-k8s-operator-proxy-rolebinding",
        "clusterrole/llama-stack-k8s-operator-proxy-role",
    ] {
        product.kubectl(&["delete", kind, "--ignore-not-found"]).await.unwrap();
    }
    product.kubectl(&["get", "configmap", CONFIG_MAP, "-n", NAMESPACE]).await.unwrap();
}

/// Clients of v1alpha1 read what they wrote, and may apply it again.
async fn both_versions_are_served(product: &Product, before: &Running) {
    let begun = Instant::now();
    let get = ["get", V1ALPHA1, PLAIN, "-n", OLD, "-o", "json"];
    let older: Value = serde_json::from_str(&product.kubectl(&get).await.unwrap()).unwrap();
    let wanted = v1alpha1(PLAIN, json!({}));
    let server = &older["spec"]["server"];
    for field in ["distribution", "userConfig"] {
        assert_eq!(server[field], wanted["spec"]["server"][field], "{older:#}");
    }
    assert_eq!(server["containerSpec"]["env"], wanted["spec"]["server"]["containerSpec"]["env"]);
    assert_eq!(older["status"]["phase"], "Ready", "{older:#}");
    product.apply(OLD, &wanted.to_string()).await.unwrap();
    let newer = product.resource(OLD, STORED).await.unwrap();
    assert_eq!(newer["spec"]["workload"]["storage"]["size"], "1Gi", "{newer:#}");
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(Running::now(product).await, *before, "the same again changes nothing");
    kept("v1alpha1 is served by the conversion webhook", begun, "");
}

async fn what_is_stored_is_migrated(product: &Product, before: &Running) {
    let begun = Instant::now();
    product.llsd(&["migrate", "--in-cluster"]).unwrap();
    let stored = ["get", "crd", DEFINITION, "-o", "jsonpath={.status.storedVersions}"];
    assert_eq!(product.kubectl(&stored).await.unwrap(), r#"["v1alpha2"]"#);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(Running::now(product).await, *before);
    let asked = nothing_failed_in(product, OLD).await;
    let measured = format!("{asked} requests, none lost");
    kept("What v0.9 stored is migrated: no pod restarts", begun, &measured);
}

/// The old pod of a server ends as v0.9 made it, which is at once.
async fn what_waits_is_approved(product: &Product, before: &Running) {
    let begun = Instant::now();
    product.llsd(&["rollout", "approve", PLAIN, "-n", OLD]).unwrap();
    let is_new =
        |resource: &Value| is_ready(resource) && condition(resource, "UpdatePending").is_null();
    product.until(OLD, PLAIN, PATIENCE, is_new).await.unwrap();
    let template = Running::now(product).await.deployments[0][1].clone();
    assert_ne!(template, before.deployments[0][1]);
    let container = &template["spec"]["containers"][0];
    assert!(container["readinessProbe"].is_object(), "{template:#}");
    tokio::time::sleep(Duration::from_secs(20)).await;
    let asked = product.asked(OLD).unwrap();
    let measured = format!("{} requests, {} lost", asked.asked, asked.failed.len());
    kept("What waits for a server of v0.9 is approved", begun, &measured);
}

async fn a_deleted_server_leaves_its_claim(product: &Product) {
    let begun = Instant::now();
    product.kubectl(&["delete", V1ALPHA1, STORED, "-n", OLD, "--timeout=2m"]).await.unwrap();
    let gone = ["wait", &format!("deployment/{STORED}"), "-n", OLD, "--for=delete", "--timeout=2m"];
    product.kubectl(&gone).await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let claim = ["get", "pvc", &format!("{STORED}-pvc"), "-n", OLD, "-o", "json"];
    let claim: Value = serde_json::from_str(&product.kubectl(&claim).await.unwrap()).unwrap();
    assert!(claim["metadata"]["deletionTimestamp"].is_null(), "{claim:#}");
    kept("The claim of v0.9 stays when its server is deleted", begun, "");
}
