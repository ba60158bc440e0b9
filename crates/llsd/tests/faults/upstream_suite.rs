//! What the end-to-end suite of the Go operator asks for, in our words: v1alpha1 alone, as its users
//! write it, with no registry to be reached. What differs on purpose is in
//! `docs/migration-v1alpha1-to-v1alpha2.md`.

use std::time::Duration;

use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use llsd_install::cluster_wide;
use llsd_testkit::{ControlPlane, InUse, WhileUsed, free_port};
use serde_json::{Value, json};
use tokio::time::Instant;

use llsd_testbed::access::eventually;
use llsd_testbed::authority::authority;
use llsd_testbed::install::{apply, file};
use llsd_testbed::namespace::{DISTRIBUTION, Namespace, PATIENCE};
use llsd_testbed::neighbour;
use llsd_testbed::stub_server::StubServer;
use llsd_testbed::test_operator::TestOperator;

const NAME: &str = "llamastackdistribution-sample";
const SERVICE: &str = "llamastackdistribution-sample-service";
const CLAIM: &str = "llamastackdistribution-sample-pvc";

/// An operator with its webhooks, by which v1alpha1 is served, and servers that answer it.
async fn suite() -> Option<InUse<TestOperator>> {
    static SUITE: WhileUsed<TestOperator> = WhileUsed::new();
    let start = async || {
        let cluster = ControlPlane::builder().with_controller_manager().start_or_skip().await?;
        let (port, servers) = (free_port().unwrap(), StubServer::of_all_servers());
        let arguments = [
            format!("--webhook-bind-address=127.0.0.1:{port}"),
            format!("--webhook-url=https://127.0.0.1:{port}"),
            format!("--server-url-template=http://{}", servers.host()),
        ];
        let arguments = arguments.each_ref().map(String::as_str);
        let operator = TestOperator::within(cluster, &arguments).await;
        apply(&operator.cluster, file(&cluster_wide(), "webhook.yaml")).await;
        let namespace = operator.namespace("probe").await;
        eventually("v1alpha1 is served", async || {
            let dry_run = PostParams { dry_run: true, ..PostParams::default() };
            let sample = serde_json::from_value(sample(&json!({}))).unwrap();
            older(&namespace).create(&dry_run, &sample).await.is_ok()
        })
        .await;
        Some(operator)
    };
    SUITE.get(start).await
}

/// The resources of a namespace as clients of v0.9 see them.
fn older(namespace: &Namespace<'_>) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("llamastack.io", "v1alpha1", DISTRIBUTION);
    let resource = ApiResource::from_gvk_with_plural(&kind, "llamastackdistributions");
    Api::namespaced_with(namespace.cluster.client(), &namespace.name, &resource)
}

/// The sample that the suite works with, and more in its `server`: two workers, so that the start
/// program passes what v0.9 left to the image.
fn sample(more: &Value) -> Value {
    let mut server = json!({
        "distribution": {"name": "starter"},
        "workers": 2,
        "containerSpec": {
            "name": "llama-stack", "port": 8321,
            "env": [
                {"name": "OLLAMA_INFERENCE_MODEL", "value": "llama3.2:1b"},
                {"name": "OLLAMA_URL", "value": "http://ollama-server-service.ollama-dist.svc:11434"},
            ],
        },
    });
    for (field, value) in more.as_object().unwrap() {
        server[field] = value.clone();
    }
    json!({
        "apiVersion": "llamastack.io/v1alpha1", "kind": DISTRIBUTION,
        "metadata": {"name": NAME}, "spec": {"replicas": 1, "server": server},
    })
}

/// Makes or changes the sample, and waits until its phase is Ready for that.
async fn ready(namespace: &Namespace<'_>, sample: &Value) -> Value {
    namespace.apply(&sample.to_string()).await;
    until_ready(namespace).await
}

async fn until_ready(namespace: &Namespace<'_>) -> Value {
    let begun = Instant::now();
    loop {
        namespace.until_ready(NAME).await;
        let found = older(namespace).get(NAME).await.unwrap();
        let found = serde_json::to_value(found).unwrap();
        // A rollout may have begun between the two.
        if found["status"]["phase"] == "Ready" {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{found:#}");
    }
}

async fn deployment(namespace: &Namespace<'_>) -> Value {
    namespace.get("Deployment", NAME).await.expect("a Deployment")
}

fn server(deployment: &Value) -> &Value {
    &deployment["spec"]["template"]["spec"]["containers"][0]
}

#[tokio::test]
async fn the_sample_is_created_becomes_ready_and_tells_of_its_providers() {
    let Some(operator) = suite().await else { return };
    let namespace = operator.namespace("creation").await;
    let volume = json!({"storage": {"size": "20Gi", "mountPath": "/home/lls/.lls"}});
    let found = ready(&namespace, &sample(&volume)).await;

    let made = deployment(&namespace).await;
    assert_eq!(server(&made)["name"], "llama-stack");
    assert!(!namespace.list("Pod").await.is_empty());
    assert!(namespace.get("Service", SERVICE).await.is_some());
    // No registry was asked for a file: the image's own is found when the server starts.
    assert!(namespace.list("ConfigMap").await.iter().all(|map| {
        !map["metadata"]["name"].as_str().unwrap().starts_with(&format!("{NAME}-config-"))
    }));
    let claim = namespace.get("PersistentVolumeClaim", CLAIM).await.unwrap();
    assert_eq!(claim["spec"]["resources"]["requests"]["storage"], "20Gi");

    let status = &found["status"];
    assert_eq!(status["distributionConfig"]["activeDistribution"], "starter");
    let providers = status["distributionConfig"]["providers"].as_array().unwrap();
    assert!(!providers.is_empty(), "{status:#}");
    for provider in providers {
        for field in ["api", "provider_id", "provider_type"] {
            assert!(provider[field].as_str().is_some_and(|text| !text.is_empty()), "{provider}");
        }
        assert!(provider.get("config").is_some(), "{provider}");
        let health = &provider["health"];
        let known = ["OK", "Error", "Not Implemented"].map(Value::from);
        assert!(known.contains(&health["status"]) && health["message"].is_string(), "{provider}");
    }
    for condition in ["DeploymentReady", "HealthCheck", "ServiceReady"] {
        let conditions = status["conditions"].as_array().unwrap();
        let known = conditions.iter().find(|known| known["type"] == condition).unwrap();
        assert_eq!(known["status"], "True", "{known}");
    }
    neighbour::becomes_ready(&operator.namespace("neighbour").await).await;
}

#[tokio::test]
async fn an_edit_of_the_deployment_is_undone_in_five_seconds_and_one_of_the_resource_is_followed() {
    let Some(operator) = suite().await else { return };
    let namespace = operator.namespace("replicas").await;
    ready(&namespace, &sample(&json!({}))).await;
    assert!(namespace.get("PersistentVolumeClaim", CLAIM).await.is_none(), "nobody asked for one");
    let begun = Instant::now();
    namespace.patch("Deployment", NAME, &json!({"spec": {"replicas": 4}})).await;
    let one = |now: &Value| now["spec"]["replicas"] == 1;
    namespace.until("Deployment", NAME, "is put right", one).await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());

    let scaled = json!({"spec": {"replicas": 2}});
    let api = older(&namespace);
    api.patch(NAME, &PatchParams::default(), &Patch::Merge(&scaled)).await.unwrap();
    namespace
        .until("Deployment", NAME, "has two pods", |now| now["status"]["readyReplicas"] == 2)
        .await;
    let found = until_ready(&namespace).await;
    assert_eq!(found["status"]["availableReplicas"], 2);
}

#[tokio::test]
async fn the_pods_run_as_the_account_that_the_resource_names() {
    let Some(operator) = suite().await else { return };
    let namespace = operator.namespace("account").await;
    let account =
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "own"}});
    namespace.apply(&account.to_string()).await;
    ready(&namespace, &sample(&json!({"podOverrides": {"serviceAccountName": "own"}}))).await;
    let made = deployment(&namespace).await;
    assert_eq!(made["spec"]["template"]["spec"]["serviceAccountName"], "own");
}

/// The images are nowhere to be pulled from by the operator; the nodes may have them.
#[tokio::test]
async fn image_overrides_are_applied_updated_and_reverted() {
    let Some(operator) = suite().await else { return };
    let namespace = operator.namespace("images").await;
    ready(&namespace, &sample(&json!({}))).await;
    let image = |now: &Value| server(now)["image"].as_str().unwrap().to_owned();
    let own = image(&deployment(&namespace).await);
    for tag in ["one", "two"] {
        let override_ = format!("127.0.0.1:9/mirror/starter:{tag}");
        operator.configure(json!({"image-overrides": format!("starter: {override_}\n")})).await;
        let what = format!("runs {override_}");
        namespace.until("Deployment", NAME, &what, |now| image(now) == override_).await;
        until_ready(&namespace).await;
    }
    operator.configure(json!({"image-overrides": ""})).await;
    namespace.until("Deployment", NAME, "runs its own image again", |now| image(now) == own).await;
    until_ready(&namespace).await;
}

#[tokio::test]
async fn a_bundle_of_certificates_is_mounted_and_trusted() {
    let Some(operator) = suite().await else { return };
    let namespace = operator.namespace("tls").await;
    namespace.config_map("custom-ca-bundle", json!({"ca-bundle.crt": authority("own")})).await;
    let bundle = json!({"caBundle": {"configMapName": "custom-ca-bundle"}});
    ready(&namespace, &sample(&json!({"tlsConfig": bundle}))).await;
    let made = deployment(&namespace).await;
    let pod = &made["spec"]["template"]["spec"];
    let volumes = pod["volumes"].as_array().unwrap();
    let bundle = volumes.iter().find(|volume| volume["name"] == "ca-bundle").unwrap();
    let name = bundle["configMap"]["name"].as_str().unwrap();
    assert!(name.starts_with(&format!("{NAME}-ca-bundle-")), "{name}");
    let variables = server(&made)["env"].as_array().unwrap();
    let trusted = variables.iter().find(|variable| variable["name"] == "SSL_CERT_FILE").unwrap();
    // One file with the image's own authorities, too: on purpose another path than v0.9's.
    let path = trusted["value"].as_str().unwrap();
    let mounts = server(&made)["volumeMounts"].as_array().unwrap();
    let holds = |mount: &Value| path.starts_with(mount["mountPath"].as_str().unwrap());
    assert!(mounts.iter().any(holds), "{path} is mounted nowhere: {mounts:?}");
}

#[tokio::test]
async fn with_a_volume_a_change_replaces_the_pod_and_deletion_leaves_the_data_alone() {
    let Some(operator) = suite().await else { return };
    let namespace = operator.namespace("rollout").await;
    let mut changing = sample(&json!({"storage": {"size": "1Gi"}}));
    ready(&namespace, &changing).await;
    assert_eq!(deployment(&namespace).await["spec"]["strategy"]["type"], "Recreate");
    let pods = namespace.list("Pod").await;
    let env = changing["spec"]["server"]["containerSpec"]["env"].as_array_mut().unwrap();
    env.push(json!({"name": "ROLLED", "value": "yes"}));
    ready(&namespace, &changing).await;
    let later = namespace.list("Pod").await;
    let names = |pods: &[Value]| -> Vec<Value> {
        pods.iter().map(|pod| pod["metadata"]["name"].clone()).collect()
    };
    assert!(names(&later).iter().all(|name| !names(&pods).contains(name)), "{pods:?} {later:?}");

    older(&namespace).delete(NAME, &DeleteParams::default()).await.unwrap();
    namespace.until_gone(DISTRIBUTION, NAME).await;
    for (kind, name) in [("Deployment", NAME), ("Service", SERVICE)] {
        namespace.until_gone(kind, name).await;
    }
    let account = format!("{NAME}-sa");
    namespace.until_gone("ServiceAccount", &account).await;
    assert!(namespace.get("PersistentVolumeClaim", CLAIM).await.is_some(), "data is kept");
}
