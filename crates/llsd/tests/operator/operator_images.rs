//! Images and what they carry, from a real registry: base configurations in labels, pinned digests,
//! every tenant's own credentials, and a registry that goes away.

use llsd_testkit::{InUse, RegistryServer, TestImage, User, WhileUsed};
use serde_json::{Value, json};

use llsd_testbed::namespace::DISTRIBUTION;
use llsd_testbed::namespace::{Namespace, condition};
use llsd_testbed::registry::{allowed, configuration, labelled, pull_secret, start_for_all};
use llsd_testbed::story::{config, container, entry, vllm};
use llsd_testbed::test_operator::TestOperator;

struct World {
    operator: TestOperator,
    open: RegistryServer,
    /// Alice may read what is below `team-a`, Bob what is below `team-b`.
    guarded: RegistryServer,
}

fn alice() -> User {
    User::new("alice", "alices-w0rd", &["team-a"])
}

fn bob() -> User {
    User::new("bob", "bobs-w0rd", &["team-b"])
}

/// A resource at rest is looked at every other second.
async fn world() -> Option<InUse<World>> {
    static WORLD: WhileUsed<World> = WhileUsed::new();
    let start = async || {
        let operator = TestOperator::start(&["--resync", "2"]).await?;
        let open = RegistryServer::builder().start().await.unwrap();
        let guarded = RegistryServer::builder().with_tokens(&[alice(), bob()]);
        let guarded = start_for_all(guarded).await;
        operator.configure(json!({"registries": allowed(&[&open, &guarded])})).await;
        Some(World { operator, open, guarded })
    };
    WORLD.get(start).await
}

/// A spec with a generated configuration for this image.
fn of_image(image: &str) -> Value {
    let mut spec = vllm();
    spec["distribution"] = json!({"image": image});
    spec
}

/// The starter's configuration under another name, by which it is known again.
fn image_named(name: &str) -> TestImage {
    let begins = "distro_name: starter";
    labelled(&configuration().replacen(begins, &format!("distro_name: {name}"), 1))
}

async fn image_of(namespace: &Namespace<'_>, name: &str) -> String {
    let deployment = namespace.get("Deployment", name).await.expect("a Deployment");
    container(&deployment)["image"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_configuration_in_a_label_is_the_base_and_the_image_is_pinned() {
    let Some(world) = world().await else { return };
    let namespace = world.operator.namespace("labels").await;
    let digest = world.open.push("stack/own", "1", &image_named("own")).await.unwrap();
    let image = format!("{}/stack/own:1", world.open.host());
    namespace.distribution("demo", of_image(&image)).await;
    let ready = namespace.until_ready("demo").await;
    assert_eq!(image_of(&namespace, "demo").await, format!("{image}@{digest}"));
    let resolved = &ready["status"]["resolvedDistribution"];
    assert_eq!(resolved["image"], image.as_str());
    assert_eq!(resolved["digest"], digest.as_str());
    assert_eq!(resolved["configSource"], "Labels");
    assert_eq!(ready["status"]["distributionConfig"]["activeDistribution"], "custom");
    let config = config(&namespace, &ready).await;
    assert_eq!(config["distro_name"], "own", "the image's own is the base");
    let provider = entry(&config["providers"]["inference"], "provider_id", "vllm");
    assert_eq!(provider["config"]["base_url"], "http://vllm:8000/v1");
}

#[tokio::test]
async fn an_image_without_labels_is_refused_in_the_specified_words() {
    let Some(world) = world().await else { return };
    let namespace = world.operator.namespace("unlabelled").await;
    world.open.push("stack/bare", "1", &TestImage::new()).await.unwrap();
    let image = format!("{}/stack/bare:1", world.open.host());
    namespace.distribution("demo", of_image(&image)).await;
    let stopped =
        namespace.until_condition("demo", "ConfigGenerated", "False", "MissingConfigLabels").await;
    let said = condition(&stopped, "ConfigGenerated")["message"].as_str().unwrap();
    let exactly = format!(
        "Distribution image {image} missing config labels. Add labels using `crane mutate` or use \
         `overrideConfig` to provide configuration manually. See docs/configuration.md for details."
    );
    assert!(said.contains(&exactly), "{said}");
    assert!(namespace.get("Deployment", "demo").await.is_none());
    // As it says: with a configuration of the user's own the image runs.
    namespace.config_map("mine", json!({"config.yaml": "version: 2\n"})).await;
    let own = json!({"spec": {"providers": null, "overrideConfig": {"configMapName": "mine"}}});
    namespace.patch(DISTRIBUTION, "demo", &own).await;
    namespace.until_ready("demo").await;
}

#[tokio::test]
async fn every_tenant_reads_the_registry_with_its_own_pull_secret_only() {
    let Some(world) = world().await else { return };
    let of_alice = world.operator.namespace("alice").await;
    let of_bob = world.operator.namespace("bob").await;
    for team in ["team-a", "team-b"] {
        world.guarded.push(&format!("{team}/stack"), "1", &image_named(team)).await.unwrap();
    }
    let image = |team: &str| format!("{}/{team}/stack:1", world.guarded.host());
    let with_pull_secret = |team: &str| {
        let mut spec = of_image(&image(team));
        spec["workload"] = json!({"overrides": {"imagePullSecrets": [{"name": "registry"}]}});
        spec
    };
    of_alice.apply(&pull_secret("registry", &world.guarded, &alice())).await;
    of_bob.apply(&pull_secret("registry", &world.guarded, &bob())).await;
    of_alice.distribution("demo", with_pull_secret("team-a")).await;
    let ready = of_alice.until_ready("demo").await;
    assert_eq!(config(&of_alice, &ready).await["distro_name"], "team-a");
    // The operator has read Alice's image by now; Bob still may not.
    of_bob.distribution("own", with_pull_secret("team-b")).await;
    of_bob.distribution("foreign", with_pull_secret("team-a")).await;
    let ready = of_bob.until_ready("own").await;
    assert_eq!(config(&of_bob, &ready).await["distro_name"], "team-b");
    let mut missing = with_pull_secret("team-a");
    missing["workload"]["overrides"]["imagePullSecrets"] = json!([{"name": "nowhere"}]);
    of_bob.distribution("missing", missing).await;
    for (name, told) in [
        ("foreign", "the registry refuses the credentials of Secret registry ("),
        ("missing", "the registry asks for credentials, and Secret nowhere does not exist ("),
    ] {
        let refused =
            of_bob.until_condition(name, "ConfigGenerated", "False", "RegistryUnavailable").await;
        let message = condition(&refused, "ConfigGenerated")["message"].as_str().unwrap();
        assert!(message.contains(told), "{message}");
        assert!(of_bob.get("Deployment", name).await.is_none());
    }
    for namespace in [&of_alice, &of_bob] {
        let all = json!([namespace.list(DISTRIBUTION).await, namespace.list("Event").await]);
        assert!(!all.to_string().contains("s-w0rd"), "a password is told");
    }
    assert!(!world.operator.process.log().contains("s-w0rd"), "a password is logged");
}

#[tokio::test]
async fn the_pull_secrets_of_the_service_account_are_used() {
    let Some(world) = world().await else { return };
    let namespace = world.operator.namespace("account").await;
    world.guarded.push("team-a/account", "1", &image_named("team-a")).await.unwrap();
    namespace.apply(&pull_secret("registry", &world.guarded, &alice())).await;
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"},
        "imagePullSecrets": [{"name": "registry"}],
    });
    namespace.apply(&account.to_string()).await;
    let mut spec = of_image(&format!("{}/team-a/account:1", world.guarded.host()));
    spec["workload"] = json!({"overrides": {"serviceAccountName": "robot"}});
    namespace.distribution("demo", spec).await;
    let ready = namespace.until_ready("demo").await;
    assert_eq!(ready["status"]["resolvedDistribution"]["configSource"], "Labels");
}

/// OpenShift gives every account its pull secrets after it was made.
#[tokio::test]
async fn a_pull_secret_that_the_servers_own_account_is_given_is_used() {
    let Some(world) = world().await else { return };
    let namespace = world.operator.namespace("own-account").await;
    world.guarded.push("team-a/later", "1", &image_named("team-a")).await.unwrap();
    let spec = of_image(&format!("{}/team-a/later:1", world.guarded.host()));
    namespace.distribution("demo", spec).await;
    namespace.until_condition("demo", "ConfigGenerated", "False", "RegistryUnavailable").await;
    namespace.apply(&pull_secret("registry", &world.guarded, &alice())).await;
    let given = json!({"imagePullSecrets": [{"name": "registry"}]});
    namespace.until("ServiceAccount", "demo-sa", "is there", |_| true).await;
    namespace.patch("ServiceAccount", "demo-sa", &given).await;
    namespace.until_ready("demo").await;
}

#[tokio::test]
async fn a_tag_that_moved_is_told_and_applied_only_when_asked_for() {
    let Some(world) = world().await else { return };
    let namespace = world.operator.namespace("moved").await;
    let first = world.open.push("stack/moving", "1", &image_named("first")).await.unwrap();
    let image = format!("{}/stack/moving:1", world.open.host());
    namespace.distribution("demo", of_image(&image)).await;
    let ready = namespace.until_ready("demo").await;
    assert!(condition(&ready, "UpdatePending").is_null());
    let before = namespace.running("demo").await;
    let second = world.open.push("stack/moving", "1", &image_named("second")).await.unwrap();
    assert_ne!(first, second);
    let told = namespace.until_condition("demo", "UpdatePending", "True", "NewerImage").await;
    let said = condition(&told, "UpdatePending")["message"].as_str().unwrap();
    assert!(said.contains(&second) && said.contains("llamastack.io/refresh"), "{said}");
    assert_eq!(condition(&told, "Ready")["status"], "True");
    assert_eq!(namespace.running("demo").await, before, "nothing rolls by itself");
    namespace.until_event("demo", "UpdatePending", &second).await;

    let refresh = json!({"metadata": {"annotations": {"llamastack.io/refresh": "now"}}});
    namespace.patch(DISTRIBUTION, "demo", &refresh).await;
    let applied = namespace
        .until(DISTRIBUTION, "demo", "runs the newer image", |object| {
            object["status"]["resolvedDistribution"]["digest"] == second.as_str()
                && condition(object, "Ready")["status"] == "True"
        })
        .await;
    assert!(condition(&applied, "UpdatePending").is_null());
    assert_eq!(image_of(&namespace, "demo").await, format!("{image}@{second}"));
    assert_eq!(config(&namespace, &applied).await["distro_name"], "second", "both change at once");
}

#[tokio::test]
async fn an_operator_that_starts_without_its_registry_leaves_servers_alone() {
    let arguments = ["--resync", "2"];
    let Some(mut operator) = TestOperator::start(&arguments).await else { return };
    let mut registry = RegistryServer::builder().start().await.unwrap();
    operator.configure(json!({"registries": allowed(&[&registry])})).await;
    registry.push("stack/own", "1", &image_named("own")).await.unwrap();
    let image = format!("{}/stack/own:1", registry.host());
    let name = operator.namespace("away").await.name;
    let namespace = Namespace { cluster: &operator.cluster, name: name.clone() };
    namespace.distribution("generated", of_image(&image)).await;
    namespace.distribution("default", json!({"distribution": {"image": image}})).await;
    namespace.until_ready("generated").await;
    namespace.until_ready("default").await;
    let generated = namespace.running("generated").await;
    let default = namespace.running("default").await;

    registry.stop();
    operator.restart(&arguments);
    let namespace = Namespace { cluster: &operator.cluster, name };
    // Some looks at both of them, so that they were looked at for certain.
    let mark = namespace.quiet(&operator.user).await;
    tokio::time::sleep(std::time::Duration::from_secs(6)).await;
    assert_eq!(namespace.running("generated").await, generated, "the server is disturbed");
    assert_eq!(namespace.running("default").await, default, "the server is disturbed");
    for name in ["generated", "default"] {
        namespace.until_ready(name).await;
    }
    let requests = operator.cluster.audit().requests_of(&operator.user).await.unwrap().since(mark);
    let writes = requests.writes().only(|request| request.namespace == namespace.name);
    assert!(writes.is_empty(), "{:?}", writes.by_verb_and_resource());
}

#[tokio::test]
async fn image_overrides_of_the_operator_apply_change_and_go_again() {
    let Some(world) = world().await else { return };
    let namespace = world.operator.namespace("overrides").await;
    for tag in ["1", "2"] {
        world
            .open
            .push("mirror/starter", tag, &image_named(&format!("mirrored-{tag}")))
            .await
            .unwrap();
    }
    let registries = allowed(&[&world.open, &world.guarded]);
    let image = |tag: &str| format!("{}/mirror/starter:{tag}", world.open.host());
    let overridden = |tag: &str| {
        let overrides = json!({"starter": image(tag)}).to_string();
        json!({"registries": registries, "image-overrides": overrides})
    };
    let until_image = async |image: &str, source: &str| {
        let what = format!("runs {image}");
        let ready = namespace
            .until(DISTRIBUTION, "demo", &what, |object| {
                let resolved = &object["status"]["resolvedDistribution"];
                let runs = resolved["image"].as_str().unwrap_or_default();
                runs.starts_with(image) && condition(object, "Ready")["status"] == "True"
            })
            .await;
        assert_eq!(ready["status"]["resolvedDistribution"]["configSource"], source);
        ready
    };
    namespace.distribution("demo", vllm()).await;
    let own = "docker.io/llamastack/distribution-starter";
    until_image(own, "Embedded").await;
    world.operator.configure(overridden("1")).await;
    let ready = until_image(&image("1"), "Labels").await;
    assert_eq!(config(&namespace, &ready).await["distro_name"], "mirrored-1");
    assert_eq!(ready["status"]["distributionConfig"]["activeDistribution"], "starter");
    let available = &ready["status"]["distributionConfig"]["availableDistributions"];
    assert_eq!(available["starter"], image("1").as_str());
    world.operator.configure(overridden("2")).await;
    until_image(&image("2"), "Labels").await;
    world.operator.configure(json!({"registries": registries})).await;
    until_image(own, "Embedded").await;
}

#[tokio::test]
async fn the_labels_of_an_external_providers_image_are_merged() {
    let Some(world) = world().await else { return };
    let namespace = world.operator.namespace("external").await;
    let provider = TestImage::new()
        .label("io.llamastack.provider.api", "inference")
        .label("io.llamastack.provider.type", "remote::acme")
        .label("io.llamastack.provider.module", "acme_provider");
    world.open.push("providers/acme", "1", &provider).await.unwrap();
    world.open.push("providers/bare", "1", &TestImage::new()).await.unwrap();
    world.open.push("stack/extended", "1", &image_named("extended")).await.unwrap();
    let image = |name: &str| format!("{}/providers/{name}:1", world.open.host());
    let mut spec = of_image(&format!("{}/stack/extended:1", world.open.host()));
    let acme = |image: String| {
        json!({"inference": [{
            "providerId": "acme", "image": image, "config": {"url": "http://acme:1"},
        }]})
    };
    spec["externalProviders"] = acme(image("acme"));
    namespace.distribution("demo", spec.clone()).await;
    let ready = namespace.until_ready("demo").await;
    let config = config(&namespace, &ready).await;
    let entry = entry(&config["providers"]["inference"], "provider_id", "acme");
    let expected = json!({
        "provider_id": "acme", "provider_type": "remote::acme", "module": "acme_provider",
        "config": {"url": "http://acme:1"},
    });
    assert_eq!(*entry, expected);
    let before = namespace.running("demo").await;
    // An image that does not say what it is: the server stays, and the status says which one.
    spec["externalProviders"] = acme(image("bare"));
    namespace.distribution("demo", spec).await;
    let stopped = namespace
        .until_condition("demo", "ConfigGenerated", "False", "ConfigGenerationFailed")
        .await;
    let said = format!(
        "spec.externalProviders.inference[0].image: Missing /lls-provider/lls-provider-spec.yaml in \
         image {} (make the image with llsd provider package, or label it with \
         io.llamastack.provider.api, io.llamastack.provider.type, io.llamastack.provider.module)",
        image("bare")
    );
    assert_eq!(condition(&stopped, "ConfigGenerated")["message"], said);
    assert_eq!(namespace.running("demo").await, before);
}
