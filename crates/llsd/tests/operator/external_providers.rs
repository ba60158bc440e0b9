//! External providers as the operator plans them: read out of their images, pinned, merged, and refused in
//! the contract's words before a pod starts.

use llsd_testkit::{InUse, TestImage, WhileUsed};
use serde_json::{Value, json};

use super::operator_with_registry::OperatorWithRegistry;
use super::provider_image::{ProviderImage, greeting, package_file};
use llsd_testbed::namespace::{DISTRIBUTION, Namespace, condition};
use llsd_testbed::story::{config, entry, vllm};

/// A resource at rest is looked at every other second.
async fn world() -> Option<InUse<OperatorWithRegistry>> {
    static WORLD: WhileUsed<OperatorWithRegistry> = WhileUsed::new();
    WORLD.get(async || OperatorWithRegistry::start(&["--resync", "2"]).await).await
}

async fn push(world: &OperatorWithRegistry, name: &str, image: &TestImage) -> (String, String) {
    let digest = world.registry.push(&format!("providers/{name}"), "1", image).await.unwrap();
    (format!("{}/providers/{name}:1", world.registry.host()), digest)
}

fn with(providers: &Value) -> Value {
    let mut spec = vllm();
    spec["externalProviders"] = providers.clone();
    spec
}

fn one(api: &str, image: &str) -> Value {
    json!({api: [{"providerId": "greet", "image": image}]})
}

fn greet(image: &str) -> Value {
    json!({"toolRuntime": [{
        "providerId": "greet", "image": image, "config": {"greeting": "Good morning"},
        "secretRefs": {"token": {"name": "creds", "key": "token"}},
    }]})
}

async fn init_containers(namespace: &Namespace<'_>) -> Vec<(String, String)> {
    let deployment = namespace.get("Deployment", "demo").await.expect("a Deployment");
    let all = &deployment["spec"]["template"]["spec"]["initContainers"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = all.as_array().into_iter().flatten();
    all.map(|container| (text(&container["name"]), text(&container["image"]))).collect()
}

#[tokio::test]
async fn a_provider_is_read_out_of_its_image_pinned_followed_and_removed() {
    let Some(world) = world().await else { return };
    let namespace = world.operator.namespace("provider").await;
    let (image, first) = push(&world, "greeting", &ProviderImage::greeting("1").image()).await;
    namespace.secret("creds", json!({"token": "a-token"})).await;
    namespace.distribution("demo", with(&greet(&image))).await;
    let ready = namespace.until_ready("demo").await;

    let file = config(&namespace, &ready).await;
    let expected = json!({
        "provider_id": "greet", "provider_type": "inline::greeting", "module": "greeting_provider",
        "config": {"greeting": "Good morning", "token": "${env.LLSD_GREET_TOKEN}"},
    });
    assert_eq!(*entry(&file["providers"]["tool_runtime"], "provider_id", "greet"), expected);
    let containers = init_containers(&namespace).await;
    let names: Vec<&str> = containers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["prepare-installer", "describe-server", "install-greet"]);
    assert_eq!(containers[2].1, format!("{image}@{first}"));
    let told = &ready["status"]["externalProviders"][0];
    assert_eq!(told["providerId"], "greet");
    assert_eq!(told["image"], format!("{image}@{first}"));
    assert_eq!(told["initContainerName"], "install-greet");

    // A tag that moved is told, and applied when somebody asks for it.
    let before = namespace.running("demo").await;
    let (_, second) = push(&world, "greeting", &ProviderImage::greeting("2").image()).await;
    let pending = namespace.until_condition("demo", "UpdatePending", "True", "NewerImage").await;
    let said = condition(&pending, "UpdatePending")["message"].as_str().unwrap().to_owned();
    let expected = format!("The tag of the provider image {image} points to {second} by now; ");
    assert!(said.starts_with(&expected), "{said}");
    assert_eq!(namespace.running("demo").await, before, "nothing rolls by itself");
    let refresh = json!({"metadata": {"annotations": {"llamastack.io/refresh": "now"}}});
    namespace.patch(DISTRIBUTION, "demo", &refresh).await;
    let pinned = format!("{image}@{second}");
    namespace
        .until(DISTRIBUTION, "demo", "installs the newer image", |object| {
            object["status"]["externalProviders"][0]["image"] == pinned.as_str()
                && condition(object, "UpdatePending").is_null()
        })
        .await;
    assert_eq!(init_containers(&namespace).await[2].1, pinned);

    // Without it in the resource nothing of it is left.
    namespace.patch(DISTRIBUTION, "demo", &json!({"spec": {"externalProviders": null}})).await;
    namespace
        .until(DISTRIBUTION, "demo", "runs without it", |object| {
            object["status"]["externalProviders"].is_null()
                && condition(object, "Ready")["status"] == "True"
        })
        .await;
    assert!(init_containers(&namespace).await.is_empty());
}

#[tokio::test]
async fn what_is_wrong_with_a_provider_is_said_before_a_pod_starts() {
    let Some(world) = world().await else { return };
    let namespace = world.operator.namespace("mistakes").await;
    let (good, _) = push(&world, "right", &ProviderImage::greeting("1").image()).await;
    let (bare, _) = push(&world, "bare", &TestImage::new()).await;
    let wheel = greeting("1");
    let text = package_file("greeting", "greeting_provider", "inline::greeting", &wheel);
    let broken = ProviderImage::new(&text.replace("spec:\n", "spec: [\n"), &[]);
    let (broken, _) = push(&world, "broken", &broken.image()).await;
    let lacking = ProviderImage::new(&text.replace(", vendor: us", ""), &[]);
    let (lacking, _) = push(&world, "lacking", &lacking.image()).await;
    let no_image = "registry.example.com/Greeting:1";
    let cases = [
        (
            one("toolRuntime", no_image),
            "toolRuntime[0].image",
            format!("the image {no_image} cannot be used: "),
        ),
        (
            one("toolRuntime", &bare),
            "toolRuntime[0].image",
            format!("Missing /lls-provider/lls-provider-spec.yaml in image {bare}"),
        ),
        (
            one("toolRuntime", &broken),
            "toolRuntime[0].image",
            format!("{broken}: lls-provider-spec.yaml, line "),
        ),
        (
            one("toolRuntime", &lacking),
            "toolRuntime[0].image",
            format!(
                "{lacking}: lls-provider-spec.yaml, line 3, column 1: metadata.vendor: is missing"
            ),
        ),
        (
            one("inference", &good),
            "inference[0]",
            "the image provides the API tool_runtime, not inference (move the provider to \
             externalProviders.toolRuntime)"
                .to_owned(),
        ),
    ];
    for (number, (providers, place, words)) in cases.into_iter().enumerate() {
        let name = format!("demo-{number}");
        namespace.distribution(&name, with(&providers)).await;
        let reason = "ConfigGenerationFailed";
        let refused = namespace.until_condition(&name, "ConfigGenerated", "False", reason).await;
        let said = condition(&refused, "ConfigGenerated")["message"].as_str().unwrap().to_owned();
        assert!(said.starts_with(&format!("spec.externalProviders.{place}: {words}")), "{said}");
        let told = &refused["status"]["externalProviders"][0];
        assert_eq!((&told["phase"], &told["message"]), (&json!("Failed"), &json!(said)), "{told}");
        assert!(namespace.get("Deployment", &name).await.is_none());
    }
    // Two alike, each of them right.
    let wheel = ProviderImage::new(&text.replace("tool_runtime", "safety"), &[&wheel]);
    let (other, _) = push(&world, "other", &wheel.image()).await;
    let mut twice = one("toolRuntime", &good);
    twice["safety"] = json!([{"providerId": "greet", "image": other}]);
    namespace.distribution("twice", with(&twice)).await;
    let refused = namespace
        .until_condition("twice", "ConfigGenerated", "False", "ConfigGenerationFailed")
        .await;
    let said = condition(&refused, "ConfigGenerated")["message"].as_str().unwrap();
    assert!(said.contains("the id `greet` is that of spec.externalProviders."), "{said}");
    assert!(said.contains(&good) && said.contains(&other), "{said}");
}

#[tokio::test]
async fn a_provider_whose_registry_is_away_is_waited_for_and_a_server_runs_on_meanwhile() {
    let Some(world) = world().await else { return };
    let namespace = world.operator.namespace("away").await;
    let image = |tag: &str| format!("{}/providers/away:{tag}", world.way.host());
    let pushed = ProviderImage::greeting("1").image();
    let digest = world.registry.push("providers/away", "1", &pushed).await.unwrap();
    let until_told = async |tag: &str| {
        let place = "spec.externalProviders.toolRuntime[0].image";
        let expected = format!("{place}: the image {} cannot be read: ", image(tag));
        let told = namespace
            .until(DISTRIBUTION, "demo", &format!("says: {expected}"), |object| {
                let said = condition(object, "ConfigGenerated")["message"].as_str();
                said.is_some_and(|said| said.starts_with(&expected))
            })
            .await;
        let generated = condition(&told, "ConfigGenerated");
        assert_eq!(generated["reason"], "RegistryUnavailable");
        let provider = &told["status"]["externalProviders"][0];
        assert_eq!(
            (&provider["phase"], &provider["message"]),
            (&json!("Pending"), &generated["message"])
        );
        told
    };
    world.way.cut();
    namespace.distribution("demo", with(&one("toolRuntime", &image("1")))).await;
    until_told("1").await;
    assert!(namespace.get("Deployment", "demo").await.is_none());
    world.way.restore();
    let pinned = format!("{}@{digest}", image("1"));
    namespace
        .until(DISTRIBUTION, "demo", &format!("installs {pinned}"), |object| {
            object["status"]["externalProviders"][0]["image"] == pinned.as_str()
        })
        .await;
    namespace.until_ready("demo").await;

    let before = namespace.running("demo").await;
    world.way.cut();
    // What changes nothing about images needs no registry.
    let budget = json!({"spec": {"workload": {"podDisruptionBudget": {"minAvailable": 1}}}});
    namespace.patch(DISTRIBUTION, "demo", &budget).await;
    let kept = namespace
        .until(DISTRIBUTION, "demo", "is planned anew", |object| {
            let ready = condition(object, "Ready");
            ready["status"] == "True" && ready["observedGeneration"] == 2
        })
        .await;
    assert_eq!(namespace.list("PodDisruptionBudget").await.len(), 1);
    assert_eq!(kept["status"]["externalProviders"][0]["image"], pinned.as_str());
    assert!(namespace.running("demo").await.is_the_server_of(&before));

    let newer = json!({"spec": {"externalProviders": one("toolRuntime", &image("2"))}});
    namespace.patch(DISTRIBUTION, "demo", &newer).await;
    let told = until_told("2").await;
    assert_eq!(condition(&told, "Available")["status"], "True");
    assert!(namespace.running("demo").await.is_the_server_of(&before));
}

#[tokio::test]
async fn providers_are_merged_into_a_file_of_the_users_own() {
    let Some(world) = world().await else { return };
    let namespace = world.operator.namespace("merged").await;
    let (image, _) = push(&world, "merged", &ProviderImage::greeting("1").image()).await;
    let own = "version: 2\ndistro_name: mine\napis: [tool_runtime]\nproviders:\n  tool_runtime:\n  \
               - {provider_id: greet, provider_type: inline::other, config: {}}\nstorage: {}\n";
    namespace.config_map("mine", json!({"config.yaml": own, "notes.txt": "beside it"})).await;
    let spec = json!({
        "distribution": {"name": "starter"},
        "overrideConfig": {"configMapName": "mine"},
        "externalProviders": {"toolRuntime": [{"providerId": "greet", "image": image}]},
    });
    namespace.distribution("demo", spec).await;
    namespace.until_ready("demo").await;
    let says = "takes the place of the tool_runtime provider `greet` (inline::other) with inline::greeting";
    namespace.until_event("demo", "ProviderOverridden", says).await;
    let deployment = namespace.get("Deployment", "demo").await.unwrap();
    let volumes = &deployment["spec"]["template"]["spec"]["volumes"];
    let mounted = &entry(volumes, "name", "user-config")["configMap"]["name"];
    assert_ne!(mounted, "mine");
    let copy = namespace.get("ConfigMap", mounted.as_str().unwrap()).await.unwrap();
    assert_eq!(copy["data"]["notes.txt"], "beside it");
    let file: Value =
        llsd_yaml::document::read(copy["data"]["config.yaml"].as_str().unwrap()).unwrap();
    let expected = json!([{
        "provider_id": "greet", "provider_type": "inline::greeting", "module": "greeting_provider",
    }]);
    assert_eq!(file["providers"]["tool_runtime"], expected);
    assert_eq!(file["distro_name"], "mine");
}
