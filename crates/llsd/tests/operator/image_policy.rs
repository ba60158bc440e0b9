//! `images` in the operator's ConfigMap: which registries resources may name, and which images need a signature.
//! A real registry, and signatures as cosign makes them.

use llsd_install::names::IMAGE_KEYS_SECRET;
use llsd_testkit::{ImageSigner, RegistryServer};
use serde_json::{Value, json};

use llsd_testbed::namespace::{DISTRIBUTION, Namespace, condition};
use llsd_testbed::registry::{allowed, configuration, labelled};
use llsd_testbed::story::{container, vllm};
use llsd_testbed::test_operator::TestOperator;

use super::provider_image::ProviderImage;

fn of_image(image: &str) -> Value {
    let mut spec = vllm();
    spec["distribution"] = json!({"image": image});
    spec
}

/// Waits until the resource is not ready for this reason; says it in the status' words.
async fn until_told(namespace: &Namespace<'_>, name: &str, words: &str) {
    namespace
        .until(DISTRIBUTION, name, &format!("says {words:?}"), |object| {
            let told = condition(object, "Ready");
            told["status"] == "False" && object["status"].to_string().contains(words)
        })
        .await;
}

async fn image_of(namespace: &Namespace<'_>, name: &str) -> Option<String> {
    let deployment = namespace.get("Deployment", name).await?;
    container(&deployment)["image"].as_str().map(str::to_owned)
}

#[tokio::test]
async fn an_image_that_is_not_allowed_does_not_run_and_its_registry_is_not_asked() {
    let Some(operator) = TestOperator::start(&["--resync", "2"]).await else { return };
    let (ours, other) = (
        RegistryServer::builder().start().await.unwrap(),
        RegistryServer::builder().start().await.unwrap(),
    );
    let namespace = operator.namespace("allowed").await;
    let image = labelled(configuration());
    for registry in [&ours, &other] {
        registry.push("team/server", "1", &image).await.unwrap();
        registry.push("team/provider", "1", &ProviderImage::greeting("1.0").image()).await.unwrap();
    }
    let before = format!("{}/team/server:1", other.host());
    operator.configure(json!({"registries": allowed(&[&ours, &other])})).await;
    namespace.distribution("before", of_image(&before)).await;
    namespace.until_ready("before").await;
    let running = image_of(&namespace, "before").await;

    let policy = json!({"allowed": [format!("{}/team", ours.host())]}).to_string();
    operator.configure(json!({"registries": allowed(&[&ours, &other]), "images": policy})).await;
    until_told(&namespace, "before", "does not allow the image").await;
    assert_eq!(image_of(&namespace, "before").await, running, "what runs goes on running");

    let asked = other.requests().unwrap().len();
    namespace.distribution("forbidden", of_image(&before)).await;
    until_told(&namespace, "forbidden", "does not allow the image").await;
    let mut with_provider = of_image(&format!("{}/team/server:1", ours.host()));
    let provider = |registry: &RegistryServer| {
        let image = format!("{}/team/provider:1", registry.host());
        json!({"toolRuntime": [{"providerId": "greet", "image": image, "config": {"greeting": "Hi"}}]})
    };
    with_provider["externalProviders"] = provider(&other);
    namespace.distribution("provider", with_provider.clone()).await;
    until_told(&namespace, "provider", "does not allow the image").await;
    let mut with_volume = of_image(&format!("{}/team/server:1", ours.host()));
    with_volume["workload"] = json!({"overrides": {"volumes": [
        {"name": "tools", "image": {"reference": before}},
    ]}});
    namespace.distribution("volume", with_volume).await;
    until_told(&namespace, "volume", "a volume may not bring others").await;
    for name in ["forbidden", "provider", "volume"] {
        assert_eq!(image_of(&namespace, name).await, None, "{name}");
    }
    assert_eq!(other.requests().unwrap().len(), asked, "its registry was asked");

    with_provider["externalProviders"] = provider(&ours);
    namespace.distribution("provider", with_provider).await;
    namespace.until_ready("provider").await;
}

#[tokio::test]
async fn an_image_runs_once_one_of_the_keys_signed_it() {
    let Some(operator) = TestOperator::start(&["--resync", "2"]).await else { return };
    let registry = RegistryServer::builder().start().await.unwrap();
    let signer = ImageSigner::generate().unwrap();
    let namespace = operator.namespace("signed").await;
    let image = format!("{}/team/server:1", registry.host());
    let digest = registry.push("team/server", "1", &labelled(configuration())).await.unwrap();
    let config = configuration().replacen("distro_name: starter", "distro_name: next", 1);
    registry.push("team/server", "2", &labelled(&config)).await.unwrap();

    operator.configure(json!({"registries": allowed(&[&registry])})).await;
    namespace.distribution("before", of_image(&image)).await;
    namespace.until_ready("before").await;
    let running = image_of(&namespace, "before").await;

    let policy = json!({"signed": [{"images": [registry.host()], "keys": ["cosign.pub"]}]});
    let keys = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": IMAGE_KEYS_SECRET},
        "stringData": {"cosign.pub": signer.public_key(), "other": "no key"},
    });
    operator.operator_namespace().apply(&keys.to_string()).await;
    let configured = json!({"registries": allowed(&[&registry]), "images": policy.to_string()});
    operator.configure(configured).await;

    until_told(&namespace, "before", "signature cannot be verified").await;
    assert_eq!(image_of(&namespace, "before").await, running, "what runs goes on running");
    let mut own = of_image(&image);
    own.as_object_mut().unwrap().remove("providers");
    own["overrideConfig"] = json!({"configMapName": "own"});
    namespace.config_map("own", json!({"config.yaml": configuration()})).await;
    for (name, spec) in [("generated", of_image(&image)), ("own", own)] {
        namespace.distribution(name, spec).await;
        until_told(&namespace, name, "signature cannot be verified").await;
        assert_eq!(image_of(&namespace, name).await, None, "{name}");
    }

    registry.sign("team/server", &digest, &digest, &signer).await.unwrap();
    for name in ["before", "generated", "own"] {
        namespace.until_ready(name).await;
    }
    assert_eq!(image_of(&namespace, "before").await, running, "nothing is replaced");
    assert_eq!(image_of(&namespace, "own").await, Some(format!("{image}@{digest}")));

    // A tag that moves to what is not signed moves nothing.
    namespace
        .distribution("generated", of_image(&format!("{}/team/server:2", registry.host())))
        .await;
    until_told(&namespace, "generated", "signature cannot be verified").await;
    assert_eq!(image_of(&namespace, "generated").await, Some(format!("{image}@{digest}")));
}
