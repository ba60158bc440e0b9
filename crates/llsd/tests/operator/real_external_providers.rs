//! External providers in pods that really run: the operator's program is brought in, the server's image says
//! what it is, each provider is installed in its own image, and the real server serves it. What does not fit
//! never reaches the running server.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use llsd_kubelet::{ImageStandIn, RunningKubelet};
use llsd_plan::facts::DEFAULT_OPERATOR_IMAGE;
use llsd_testkit::{RegistryServer, Release, TestWheel};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::provider_image::{ProviderImage, package_file};
use super::real_site::{RealSite, serving, until};
use llsd_testbed::access::eventually;
use llsd_testbed::namespace::{Namespace, condition};
use llsd_testbed::operator::executable;

const BASE: &str = include_str!("../servers/pod/bases/0.5-to-0.7.yaml");
const BASE_OF_OGX: &str = include_str!("../servers/pod/bases/ogx.yaml");
/// Each pod and each preflight reads a lot of Python, on a machine that may be busy.
const PATIENCE: Duration = Duration::from_mins(6);

/// What stands for the images of providers, by name without tag and digest.
type Images = Arc<Mutex<BTreeMap<String, PathBuf>>>;

struct World<'a> {
    registry: &'a RegistryServer,
    images: Images,
    folder: TempDir,
}

impl World<'_> {
    /// An image in the registry, and its folder for pods.
    async fn push(&self, name: &str, provider: &ProviderImage) -> String {
        let folder = self.folder.path().join(name);
        provider.write(&folder);
        let repository = format!("providers/{name}");
        self.registry.push(&repository, "1", &provider.image()).await.unwrap();
        let image = format!("{}/{repository}", self.registry.host());
        self.images.lock().unwrap().insert(image.clone(), folder);
        format!("{image}:1")
    }
}

fn greet(image: &str) -> Value {
    json!({"providerId": "greet", "image": image, "config": {"greeting": "Good morning"}})
}

fn spec(image: &str, providers: &[Value]) -> Value {
    let mut spec = json!({"distribution": {"image": image}});
    if !providers.is_empty() {
        spec["externalProviders"] = json!({"toolRuntime": providers});
    }
    // Without external providers something else must ask for a file.
    spec["disabled"] = json!(["vectorIo"]);
    spec
}

#[tokio::test(flavor = "multi_thread")]
async fn providers_of_images_are_served_by_the_real_server() {
    served_by(Release::V0_7_3, BASE, true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn providers_of_images_are_served_by_ogx() {
    served_by(Release::OGX_1_5_0, BASE_OF_OGX, Release::is_thorough_test()).await;
}

async fn served_by(release: Release, base: &str, with_mistakes: bool) {
    let images = Images::default();
    let program = executable();
    let operator = ImageStandIn::programs(program.parent().unwrap())
        .with_command([program.display().to_string()]);
    let known = Arc::clone(&images);
    let others = move |image: &str| {
        let name = image.split('@').next().unwrap_or_default();
        let name = name.strip_suffix(":1").unwrap_or(name);
        match known.lock().unwrap().get(name) {
            Some(folder) => Some(ImageStandIn::default().with_folder(folder, "/lls-provider")),
            None => (image == DEFAULT_OPERATOR_IMAGE).then(|| operator.clone()),
        }
    };
    let labels = [("io.llamastack.config.base64", BASE64_STANDARD.encode(base))];
    let Some(site) = RealSite::with_images(release, labels, others).await else { return };
    let _operator = site.operator(&[]);
    let namespace = site.namespace("external").await;
    let (kubelet, image) = (&site.kubelet, &site.image);
    let world = World { registry: &site.registry, images, folder: tempfile::tempdir().unwrap() };

    // Two ids of one image.
    let good = world.push("greeting", &ProviderImage::greeting("1")).await;
    let mut again = greet(&good);
    again["providerId"] = json!("greet-again");
    namespace.distribution("real", spec(image, &[greet(&good), again])).await;
    let ready = until(&namespace, kubelet, PATIENCE, async |now| {
        phases(now) == ["greet: Ready", "greet-again: Ready"]
            && condition(now, "Ready")["status"] == "True"
    })
    .await;
    let pinned = ready["status"]["externalProviders"][0]["image"].as_str().unwrap().to_owned();
    assert!(pinned.starts_with(&format!("{good}@sha256:")), "{pinned}");
    let url = format!("{}/{}/real-service", kubelet.proxy_url(), namespace.name);
    let served = provider(&url, "greet").await;
    assert_eq!(served["provider_type"], "inline::greeting");
    assert_eq!(served["config"]["greeting"], "Good morning");

    if with_mistakes {
        refused(&world, &namespace, kubelet, image, &good).await;
    }

    namespace.distribution("real", spec(image, &[])).await;
    until(&namespace, kubelet, PATIENCE, async |now| {
        now["status"]["externalProviders"].is_null()
            && condition(now, "Ready")["status"] == "True"
            && condition(now, "Ready")["observedGeneration"] == now["metadata"]["generation"]
    })
    .await;
    // The pod of before goes on serving until everybody knows that it is to stop.
    let is_gone = async || provider(&url, "greet").await.is_null();
    eventually("nothing of it is left", is_gone).await;
}

/// Providers that do not fit, each beside the good one, and what a user reads of each.
async fn refused(
    world: &World<'_>,
    namespace: &Namespace<'_>,
    kubelet: &RunningKubelet,
    image: &str,
    good: &str,
) {
    let pods = serving(namespace).await;
    let of = |name: &str, wheel: &TestWheel| {
        let module = name.replace('-', "_");
        ProviderImage::new(
            &package_file(name, &module, &format!("inline::{name}"), wheel),
            &[wheel],
        )
    };
    let files = |wheel: TestWheel, module: &str, text: &str| {
        let text = text.to_owned();
        wheel
            .file(&format!("{module}/__init__.py"), "")
            .file(&format!("{module}/provider.py"), text)
    };
    let old = TestWheel::new("old", "1").tag("cp39-cp39-manylinux_2_28_aarch64");
    let old = files(old, "old", "def get_provider_spec(): ...").lying(
        "old/data.txt",
        "what it is",
        "what it was",
    );
    let other = files(TestWheel::new("greeting-provider", "9"), "clash", "");
    let hungry = files(TestWheel::new("hungry", "1"), "hungry", "import nowhere_to_be_found\n");
    let empty = "def get_provider_spec():\n    return []\n";
    let empty = files(TestWheel::new("empty", "1"), "empty", empty);
    let cases = [
        (
            "old",
            old,
            &["install-odd ended with exit code 1: ", "old-1-cp39", "Python", "data.txt"][..],
        ),
        (
            "clash",
            other,
            &["install-odd ended with exit code 1: ", "greeting-provider", "9", "greet"],
        ),
        ("hungry", hungry, &["hungry needs nowhere_to_be_found, which is not installed"]),
        ("empty", empty, &["get_provider_spec() gives nothing, not inline::empty"]),
    ];
    for (name, wheel, words) in cases {
        let odd = world.push(name, &of(name, &wheel)).await;
        let odd = json!({"providerId": "odd", "image": odd});
        namespace.distribution("real", spec(image, &[greet(good), odd])).await;
        let told = until(namespace, kubelet, PATIENCE, async |now| {
            condition(now, "Preflight")["reason"] == "PreflightFailed"
                && condition(now, "Preflight")["observedGeneration"]
                    == now["metadata"]["generation"]
        })
        .await;
        let odd = &told["status"]["externalProviders"][1];
        let message = odd["message"].as_str().unwrap_or_default();
        assert_eq!(
            (&odd["providerId"], &odd["phase"]),
            (&json!("odd"), &json!("Failed")),
            "{told}"
        );
        assert!(words.iter().all(|words| message.contains(words)), "{name}: {message}");
        let said = condition(&told, "Preflight")["message"].as_str().unwrap();
        assert!(said.contains("spec.externalProviders.toolRuntime[1]"), "{said}");
        assert_eq!(serving(namespace).await, pods, "the running pod is touched");
    }
}

fn phases(resource: &Value) -> Vec<String> {
    let all = resource["status"]["externalProviders"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    all.map(|one| format!("{}: {}", text(&one["providerId"]), text(&one["phase"]))).collect()
}

/// A provider as the running server lists it.
async fn provider(url: &str, id: &str) -> Value {
    let answer = reqwest::get(format!("{url}/v1/providers")).await.unwrap().text().await.unwrap();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let all = answer["data"].as_array().cloned().unwrap_or_default();
    all.into_iter().find(|one| one["provider_id"] == id).unwrap_or_default()
}
