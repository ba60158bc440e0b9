//! Registries that are slow, gone or emptied: they delay nobody else, what runs does not need them, and
//! they are asked no more often than is of use.

use std::time::Duration;

use llsd_testkit::{PodState, RegistryServer, TestImage};
use serde_json::{Value, json};
use tokio::time::Instant;

use llsd_testbed::blackhole_server::BlackholeServer;
use llsd_testbed::namespace::{DISTRIBUTION, Namespace, condition};
use llsd_testbed::neighbour;
use llsd_testbed::registry::{allowed, allowed_hosts, configuration, labelled};
use llsd_testbed::story::{config, vllm_with_key};
use llsd_testbed::test_operator::TestOperator;

/// More hosts that hang than there are workers.
const HOSTS: usize = 24;

/// A spec with a generated configuration for this image.
fn of_image(image: &str) -> Value {
    let mut spec = vllm_with_key();
    spec["distribution"] = json!({"image": image});
    spec
}

/// The starter's configuration under another name, by which it is known again.
fn image_named(name: &str) -> TestImage {
    let begins = "distro_name: starter";
    labelled(&configuration().replacen(begins, &format!("distro_name: {name}"), 1))
}

async fn with_key(namespace: Namespace<'_>) -> Namespace<'_> {
    namespace.secret("vllm-creds", json!({"token": "first-word"})).await;
    namespace
}

/// The records of what was read of images in a namespace.
async fn records(namespace: &Namespace<'_>) -> Vec<Value> {
    let mut all = namespace.list("ConfigMap").await;
    all.retain(|found| found["metadata"]["annotations"]["llamastack.io/images-hash"].is_string());
    all
}

#[tokio::test]
async fn registries_of_one_tenant_that_hang_delay_no_other_and_none_is_asked_in_vain() {
    let Some(operator) = TestOperator::start(&["--concurrency", "4"]).await else { return };
    let registry = RegistryServer::builder().start().await.unwrap();
    for name in ["own", "fleet"] {
        registry.push(&format!("stack/{name}"), "1", &image_named(name)).await.unwrap();
    }
    let hanging: Vec<BlackholeServer> = (0..HOSTS).map(|_| BlackholeServer::listening()).collect();
    let mut hosts: Vec<String> = hanging.iter().map(BlackholeServer::host).collect();
    hosts.push(registry.host().to_owned());
    operator.configure(json!({"registries": allowed_hosts(&hosts)})).await;

    let slow = with_key(operator.namespace("slow").await).await;
    for (number, host) in hanging.iter().map(BlackholeServer::host).enumerate() {
        slow.distribution(&format!("slow-{number}"), of_image(&format!("{host}/a/b:1"))).await;
    }
    // Somebody else's, and one with a registry of its own that answers.
    neighbour::becomes_ready(&operator.namespace("other").await).await;
    let healthy = with_key(operator.namespace("healthy").await).await;
    let begun = Instant::now();
    let image = format!("{}/stack/own:1", registry.host());
    healthy.distribution("demo", of_image(&image)).await;
    healthy.until_ready("demo").await;
    let taken = begun.elapsed();
    assert!(taken < Duration::from_secs(40), "Ready after {taken:?}");
    // What is waited for is told, and a mistake can be put right meanwhile.
    let told =
        slow.until_condition("slow-0", "ConfigGenerated", "False", "RegistryUnavailable").await;
    let said = condition(&told, "ConfigGenerated")["message"].as_str().unwrap();
    assert!(said.contains(&hanging[0].host()), "{said}");
    let begun = Instant::now();
    slow.patch(DISTRIBUTION, "slow-0", &json!({"spec": {"distribution": {"image": image}}})).await;
    slow.until_ready("slow-0").await;
    let taken = begun.elapsed();
    assert!(taken < Duration::from_secs(40), "Ready {taken:?} after it was put right");

    // A fleet that crashes is looked at all the time, and its registry asked once in a while.
    operator.kubelet.decide(|pod| match &pod.metadata.namespace {
        Some(namespace) if namespace.starts_with("crash") => PodState::crash_loop("no model"),
        _ => PodState::Ready,
    });
    let crashing = with_key(operator.namespace("crash").await).await;
    let image = format!("{}/stack/fleet:1", registry.host());
    for number in 0..6 {
        crashing.distribution(&format!("server-{number}"), of_image(&image)).await;
    }
    for number in 0..6 {
        let name = format!("server-{number}");
        crashing.until_condition(&name, "DeploymentReady", "False", "DeploymentFailed").await;
    }
    let asked = || {
        let requests = registry.requests().unwrap();
        requests.iter().filter(|request| request.contains("/stack/fleet/")).count()
    };
    let before = asked();
    assert!(before <= 3 * 6, "{before} requests for six new resources");
    tokio::time::sleep(Duration::from_secs(25)).await;
    assert_eq!(asked(), before, "asked again although nothing changed");
}

#[tokio::test]
async fn what_runs_needs_no_registry_also_after_a_restart() {
    let Some(mut operator) = TestOperator::start(&[]).await else { return };
    let mut registry = RegistryServer::builder().start().await.unwrap();
    operator.configure(json!({"registries": allowed(&[&registry])})).await;
    registry.push("stack/own", "1", &image_named("own")).await.unwrap();
    let digest = registry.push("stack/own", "2", &image_named("second")).await.unwrap();
    let host = registry.host().to_owned();
    let image = |tag: &str| format!("{host}/stack/own:{tag}");
    let name = with_key(operator.namespace("kept").await).await.name;
    let namespace = Namespace { cluster: &operator.cluster, name: name.clone() };
    namespace.distribution("demo", of_image(&image("1"))).await;
    namespace.until_ready("demo").await;
    namespace.distribution("forged", of_image(&image("1"))).await;
    namespace.until_ready("forged").await;
    // A new image is kept in the place of the old one.
    let second = json!({"spec": {"distribution": {"image": image("2")}}});
    namespace.patch(DISTRIBUTION, "demo", &second).await;
    namespace.until_ready("demo").await;
    let kept = namespace
        .until(DISTRIBUTION, "demo", "runs the second image", |object| {
            object["status"]["resolvedDistribution"]["digest"] == digest.as_str()
        })
        .await;
    namespace.quiet(&operator.user).await;
    let all = records(&namespace).await;
    let names: Vec<&str> =
        all.iter().map(|found| found["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    let record_of = |prefix: &str| {
        let mut named = all.iter().zip(&names).filter(|(_, name)| name.starts_with(prefix));
        named.next().expect("a record").0
    };
    let own = record_of("demo-");
    assert_eq!(own["metadata"]["ownerReferences"][0]["uid"], kept["metadata"]["uid"]);
    assert!(own["data"]["images.json"].as_str().unwrap().contains(&digest));

    // One record is put in place of another, with its hash: whoever does that is not believed.
    let mut forged = record_of("forged-").clone();
    let text = forged["data"]["images.json"]
        .as_str()
        .unwrap()
        .replace("distro_name: own", "distro_name: forged");
    forged["data"]["images.json"] = json!(text);
    (forged["apiVersion"], forged["kind"]) = (json!("v1"), json!("ConfigMap"));
    for field in ["uid", "resourceVersion", "creationTimestamp", "managedFields"] {
        forged["metadata"].as_object_mut().unwrap().remove(field);
    }
    let forged_server = namespace.running("forged").await;
    registry.stop();
    operator.process.kill();
    let namespace = Namespace { cluster: &operator.cluster, name: name.clone() };
    namespace.delete("ConfigMap", forged["metadata"]["name"].as_str().unwrap()).await;
    namespace.apply(&forged.to_string()).await;
    operator.restart(&[]);

    let namespace = Namespace { cluster: &operator.cluster, name };
    neighbour::becomes_ready(&operator.namespace("other").await).await;
    let before = namespace.running("demo").await;
    // A number of replicas, a policy, and a Secret with another value.
    let more = json!({"spec": {
        "workload": {"replicas": 2}, "networking": {"allowedFrom": {"namespaces": ["clients"]}},
    }});
    namespace.patch(DISTRIBUTION, "demo", &more).await;
    let ready = namespace.until_ready("demo").await;
    assert_eq!(ready["status"]["availableReplicas"], 2);
    assert!(namespace.get("NetworkPolicy", "demo-network-policy").await.is_some());
    let after = namespace.running("demo").await;
    let containers = "/spec/containers";
    assert_eq!(after.template.pointer(containers), before.template.pointer(containers));
    assert_eq!(config(&namespace, &ready).await["distro_name"], "second");
    namespace.secret("vllm-creds", json!({"token": "another-word"})).await;
    let rolled = |deployment: &Value| deployment["spec"]["template"] != after.template;
    namespace.until("Deployment", "demo", "rolls with its Secret", rolled).await;
    namespace.until_ready("demo").await;
    assert_eq!(
        namespace.get(DISTRIBUTION, "demo").await.unwrap()["status"]["resolvedDistribution"]["digest"],
        digest.as_str()
    );

    // A change of the image does need it; the server is left alone.
    let running = namespace.running("demo").await;
    let third = json!({"spec": {"distribution": {"image": image("3")}}});
    namespace.patch(DISTRIBUTION, "demo", &third).await;
    namespace.until_condition("demo", "ConfigGenerated", "False", "RegistryUnavailable").await;
    assert_eq!(namespace.running("demo").await.template, running.template);
    // And so does a record that was tampered with.
    namespace.until_condition("forged", "ConfigGenerated", "False", "RegistryUnavailable").await;
    let forged = namespace.running("forged").await;
    assert_eq!(forged.template, forged_server.template, "a forged record reaches a server");
    namespace.delete(DISTRIBUTION, "demo").await;
    let own = own["metadata"]["name"].as_str().unwrap();
    namespace.until_gone("ConfigMap", own).await;
}

#[tokio::test]
async fn an_image_that_its_registry_deleted_runs_on_and_its_resource_can_be_changed() {
    let Some(mut operator) = TestOperator::start(&[]).await else { return };
    let registry = RegistryServer::builder().start().await.unwrap();
    operator.configure(json!({"registries": allowed(&[&registry])})).await;
    let digest = registry.push("stack/own", "1", &image_named("own")).await.unwrap();
    let name = with_key(operator.namespace("deleted").await).await.name;
    let namespace = Namespace { cluster: &operator.cluster, name: name.clone() };
    let image = format!("{}/stack/own:1", registry.host());
    namespace.distribution("demo", of_image(&image)).await;
    namespace.until_ready("demo").await;
    namespace.quiet(&operator.user).await;
    registry.delete_manifest("stack/own", &digest).await.unwrap();
    operator.restart(&[]);

    let namespace = Namespace { cluster: &operator.cluster, name };
    neighbour::becomes_ready(&operator.namespace("other").await).await;
    let before = namespace.running("demo").await;
    let model = json!({"spec": {"resources": {"models": ["llama3"]}}});
    namespace.patch(DISTRIBUTION, "demo", &model).await;
    let changed = |deployment: &Value| deployment["spec"]["template"] != before.template;
    namespace.until("Deployment", "demo", "rolls with its new model", changed).await;
    let ready = namespace.until_ready("demo").await;
    assert_eq!(ready["status"]["resolvedDistribution"]["digest"], digest.as_str());
    assert_eq!(config(&namespace, &ready).await["distro_name"], "own");
    let container = &namespace.running("demo").await.template["spec"]["containers"][0];
    assert!(container["image"].as_str().unwrap().ends_with(&digest), "{container}");
}
