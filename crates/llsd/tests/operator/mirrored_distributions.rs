//! A distribution's image in a mirror that nobody labelled, from a real registry: its configuration is part of the
//! operator, for as long as the image is of the same release.

use llsd_testkit::TestImage;
use serde_json::{Value, json};

use super::operator_with_registry::OperatorWithRegistry;
use llsd_testbed::namespace::{Namespace, condition};
use llsd_testbed::registry::allowed;
use llsd_testbed::story::{config, container, entry, vllm};

async fn runs_pinned(namespace: &Namespace<'_>, name: &str, image: &str, digest: &str) {
    let ready = namespace.until_ready(name).await;
    let resolved = &ready["status"]["resolvedDistribution"];
    assert_eq!((&resolved["image"], &resolved["digest"]), (&json!(image), &json!(digest)));
    assert_eq!(resolved["configSource"], "Embedded");
    let deployment = namespace.get("Deployment", name).await.unwrap();
    assert_eq!(container(&deployment)["image"], format!("{image}@{digest}"));
    let config = config(namespace, &ready).await;
    assert_eq!(config["distro_name"], "starter", "the operator's own is the base");
    let provider = entry(&config["providers"]["inference"], "provider_id", "vllm");
    assert_eq!(provider["config"]["base_url"], "http://vllm:8000/v1");
}

/// What is said, with its remedy, of a resource that nothing is generated for.
async fn refused(namespace: &Namespace<'_>, name: &str) -> String {
    let stopped =
        namespace.until_condition(name, "ConfigGenerated", "False", "MissingConfigLabels").await;
    condition(&stopped, "ConfigGenerated")["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_mirrored_image_without_labels_keeps_its_distributions_configuration() {
    let Some(OperatorWithRegistry { operator, registry, .. }) =
        OperatorWithRegistry::start(&[]).await
    else {
        return;
    };
    let namespace = operator.namespace("mirrored").await;
    let image = |tag: &str| format!("{}/llamastack/starter:{tag}", registry.host());
    let of_release = registry.push("llamastack/starter", "0.7.3", &TestImage::new()).await.unwrap();
    let before = TestImage::new().label("maintainer", "someone");
    registry.push("llamastack/starter", "0.7.2", &before).await.unwrap();
    let configured = |image: &str| -> Value {
        let overrides = json!({"starter": image}).to_string();
        json!({"registries": allowed(&[&registry]), "image-overrides": overrides})
    };

    // By its distribution's name, and by itself.
    operator.configure(configured(&image("0.7.3"))).await;
    namespace.distribution("by-name", vllm()).await;
    let mut by_image = vllm();
    by_image["distribution"] = json!({"image": image("0.7.3")});
    namespace.distribution("by-image", by_image).await;
    for name in ["by-name", "by-image"] {
        runs_pinned(&namespace, name, &image("0.7.3"), &of_release).await;
    }

    // One of another release is not described by it; the servers that run go on.
    let running = namespace.running("by-name").await;
    operator.configure(configured(&image("0.7.2"))).await;
    let said = refused(&namespace, "by-name").await;
    let why = "distribution starter is of release 0.7.3, but this image is of release 0.7.2.";
    assert!(said.contains(why), "{said}");
    assert!(
        said.contains("use an image of release 0.7.3 under starter in image-overrides"),
        "{said}"
    );
    assert_eq!(namespace.running("by-name").await, running, "the server is disturbed");
    operator.configure(configured(&image("0.7.3"))).await;
    runs_pinned(&namespace, "by-name", &image("0.7.3"), &of_release).await;
    assert_eq!(namespace.running("by-name").await, running, "the server is disturbed");
}
