//! OpenShift's mirror objects: found when the cluster comes to serve their kind, obeyed while they
//! are there, and forgotten when one of them or the whole kind goes.

use llsd_testkit::{RegistryServer, TestImage};
use serde_json::{Value, json};

use llsd_testbed::access::eventually;
use llsd_testbed::cluster::create_when_served;
use llsd_testbed::namespace::{DISTRIBUTION, Namespace, condition};
use llsd_testbed::registry::{allowed_hosts, configuration, labelled};
use llsd_testbed::story::{config, vllm};
use llsd_testbed::test_operator::TestOperator;

/// Where nobody listens.
const SOURCE: &str = "127.0.0.1:9";

/// The plural with its group, as the definition is named.
const MIRROR_SETS: &str = "imagedigestmirrorsets.config.openshift.io";

/// As much of the kind as a test needs.
fn definition() -> String {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": MIRROR_SETS},
        "spec": {
            "group": "config.openshift.io", "scope": "Cluster",
            "names": {
                "kind": "ImageDigestMirrorSet", "listKind": "ImageDigestMirrorSetList",
                "plural": "imagedigestmirrorsets", "singular": "imagedigestmirrorset",
            },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": open},
            }],
        },
    })
    .to_string()
}

/// Leads from a folder of the source to the mirror's only one.
fn mirror_set(folder: &str, mirror: &RegistryServer) -> String {
    let entry = json!({
        "source": format!("{SOURCE}/{folder}"),
        "mirrors": [format!("{}/mirrored", mirror.host())],
    });
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ImageDigestMirrorSet",
        "metadata": {"name": folder}, "spec": {"imageDigestMirrors": [entry]},
    })
    .to_string()
}

/// The starter's configuration under another name, by which it is known again.
fn image_named(name: &str) -> TestImage {
    let begins = "distro_name: starter";
    labelled(&configuration().replacen(begins, &format!("distro_name: {name}"), 1))
}

/// A spec with an image that is in the mirror, and is named as one in a folder of the source.
async fn of_mirrored(mirror: &RegistryServer, folder: &str, name: &str) -> Value {
    let digest = mirror.push(&format!("mirrored/{name}"), "1", &image_named(name)).await.unwrap();
    let mut spec = vllm();
    spec["distribution"] = json!({"image": format!("{SOURCE}/{folder}/{name}@{digest}")});
    spec
}

/// The source was asked in vain, and no mirror, which would have had the image.
async fn until_unreachable(namespace: &Namespace<'_>, name: &str) {
    let says = format!("{SOURCE} cannot be reached");
    namespace
        .until(DISTRIBUTION, name, &says, |object| {
            let generated = condition(object, "ConfigGenerated");
            let message = generated["message"].as_str().unwrap_or_default();
            generated["reason"] == "RegistryUnavailable" && message.contains(&says)
        })
        .await;
}

/// The image was read, which only the mirror has.
async fn until_mirrored(namespace: &Namespace<'_>, name: &str) {
    let ready = namespace.until_ready(name).await;
    assert_eq!(ready["status"]["resolvedDistribution"]["configSource"], "Labels");
    assert_eq!(config(namespace, &ready).await["distro_name"], name);
}

async fn until_figure(operator: &TestOperator, name: &str, value: f64) {
    let name = format!(r#"{name}{{resource="imagedigestmirrorsets"}}"#);
    let what = format!("{name} is {value}");
    eventually(&what, async || operator.process.figure(&name).await == Some(value)).await;
}

async fn delete(operator: &TestOperator, kind: &str, name: &str) {
    let args = ["delete", kind, name];
    operator.cluster.kubectl(&args, None).await.unwrap().expect_success();
}

#[tokio::test]
async fn mirror_objects_are_obeyed_once_their_kind_is_served_and_until_they_or_it_are_gone() {
    // A cluster of its own: the kind would be there for all operators of a shared one.
    let Some(operator) = TestOperator::start(&[]).await else { return };
    let mirror = RegistryServer::builder().start().await.unwrap();
    let hosts = [SOURCE, mirror.host()];
    operator.configure(json!({"registries": allowed_hosts(&hosts)})).await;
    let namespace = operator.namespace("mirrors").await;

    // Without the kind there is nothing but the source.
    until_figure(&operator, "llsd_kinds_served", 0.0).await;
    namespace.distribution("early", of_mirrored(&mirror, "first", "early").await).await;
    until_unreachable(&namespace, "early").await;

    // The kind is noticed by a running operator, and what waits is woken by its first object.
    create_when_served(&operator.cluster, &definition()).await;
    until_figure(&operator, "llsd_kinds_served", 1.0).await;
    until_figure(&operator, "llsd_watches_out_of_sync", 0.0).await;
    create_when_served(&operator.cluster, &mirror_set("first", &mirror)).await;
    until_mirrored(&namespace, "early").await;
    namespace.quiet(&operator.user).await;
    let running = namespace.running("early").await;

    // One watch shows both: with the second object in force, the end of the first has been seen.
    delete(&operator, MIRROR_SETS, "first").await;
    create_when_served(&operator.cluster, &mirror_set("second", &mirror)).await;
    namespace.distribution("second", of_mirrored(&mirror, "second", "second").await).await;
    until_mirrored(&namespace, "second").await;
    namespace.distribution("late", of_mirrored(&mirror, "first", "late").await).await;
    until_unreachable(&namespace, "late").await;

    // With the kind goes the object that was left.
    delete(&operator, "customresourcedefinition", MIRROR_SETS).await;
    until_figure(&operator, "llsd_kinds_served", 0.0).await;
    namespace.distribution("last", of_mirrored(&mirror, "second", "last").await).await;
    until_unreachable(&namespace, "last").await;

    // A server does not need the mirror that it came from.
    assert_eq!(namespace.running("early").await, running, "the server is disturbed");
    let early = namespace.get(DISTRIBUTION, "early").await.unwrap();
    assert_eq!(condition(&early, "Ready")["status"], "True");
}
