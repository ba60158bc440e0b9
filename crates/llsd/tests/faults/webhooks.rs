//! Callers of the webhooks who are not the API server, and what the webhooks refuse of the operator's own
//! configuration.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use llsd_install::{cluster_wide, names};
use llsd_testkit::{ControlPlane, free_port};
use serde_json::{Value, json};

use llsd_testbed::access::eventually;
use llsd_testbed::install::{apply, file};
use llsd_testbed::namespace::Namespace;
use llsd_testbed::neighbour;
use llsd_testbed::test_operator::TestOperator;
use llsd_testbed::webhook_client::{WebhookClient, send};

/// An operator whose webhooks a real API server calls, with its certificate.
struct Scene {
    operator: TestOperator,
    api_server: WebhookClient,
    port: u16,
}

impl Scene {
    async fn set() -> Option<Self> {
        let api_server = WebhookClient::new();
        let builder = ControlPlane::builder().with_controller_manager();
        let builder = builder.api_server_flag(api_server.api_server_flag());
        let cluster = builder.start_or_skip().await?;
        let port = free_port().unwrap();
        let arguments = arguments(port, Some(&api_server));
        let operator = TestOperator::within(cluster, &as_texts(&arguments)).await;
        apply(&operator.cluster, file(&cluster_wide(), "webhook.yaml")).await;
        let scene = Self { operator, api_server, port };
        scene.until_asked().await;
        Some(scene)
    }

    /// Waits until the API server asks the webhooks about both kinds.
    async fn until_asked(&self) {
        let unknown = resource("probe", &json!({"distribution": {"name": "no-such"}}));
        eventually("resources are checked", async || {
            self.dry_run("default", &unknown).await.1.contains("no distribution `no-such`")
        })
        .await;
        let later = config_map(&json!({"keyOfALaterRelease": "x"}));
        eventually("the configuration is checked", async || {
            self.dry_run(names::NAMESPACE, &later).await.1.contains("unknown key")
        })
        .await;
    }

    /// Whether kubectl can write it, and what it says.
    async fn dry_run(&self, namespace: &str, object: &Value) -> (bool, String) {
        let args = ["apply", "--server-side", "--force-conflicts", "--dry-run=server"];
        let args = [&args[..], &["-n", namespace, "-f", "-"]].concat();
        let done = self.operator.cluster.kubectl(&args, Some(&object.to_string())).await.unwrap();
        (done.success(), done.stderr)
    }

    /// The warnings that a caller gets by itself, without the API server.
    async fn warnings(
        &self,
        caller: Option<&WebhookClient>,
        namespace: &str,
        object: &Value,
    ) -> String {
        let review = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {
                "uid": "forged", "operation": "CREATE", "namespace": namespace, "name": "one",
                "userInfo": {"username": "system:admin"}, "object": object,
            },
        });
        let url = format!("https://127.0.0.1:{}/validate", self.port);
        let answer = send(&url, &self.authority().await, caller, &review).await;
        assert_eq!(answer["response"]["allowed"], true, "{answer}");
        answer["response"]["warnings"].to_string()
    }

    async fn authority(&self) -> Vec<u8> {
        let secret = self.operators().get("Secret", names::WEBHOOK_SECRET).await.unwrap();
        BASE64_STANDARD.decode(secret["data"]["ca.crt"].as_str().unwrap()).unwrap()
    }

    fn operators(&self) -> Namespace<'_> {
        self.operator.operator_namespace()
    }
}

fn arguments(port: u16, known: Option<&WebhookClient>) -> Vec<String> {
    let mut arguments = vec![
        "--leader-elect=false".to_owned(),
        format!("--webhook-bind-address=127.0.0.1:{port}"),
        format!("--webhook-url=https://127.0.0.1:{port}"),
    ];
    let file = known.map(WebhookClient::authority_file);
    arguments.extend(file.map(|file| format!("--webhook-client-ca-file={}", file.display())));
    arguments
}

fn as_texts(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

fn resource(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution",
        "metadata": {"name": name}, "spec": spec,
    })
}

fn config_map(data: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": names::CONFIG_MAP},
        "data": data,
    })
}

/// Refers to a Secret without the key, to one that is not there, and to somebody else's ConfigMap.
fn curious(elsewhere: &str) -> Value {
    let key = |name: &str, key: &str| json!({"name": name, "key": key});
    let spec = json!({
        "distribution": {"name": "starter"},
        "providers": {"inference": [
            {"id": "a", "provider": "vllm", "endpoint": "http://a", "apiKey": key("creds", "tokn")},
            {"id": "b", "provider": "vllm", "endpoint": "http://b", "apiKey": key("none", "token")},
        ]},
        "networking": {"tls": {"caBundle": {
            "configMapName": "private", "configMapNamespace": elsewhere,
        }}},
    });
    resource("one", &spec)
}

const EXISTENCE: [&str; 2] = ["Secret creds has no key tokn", "Secret not found: none"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_api_server_learns_what_exists_and_only_where_it_is_known() {
    let Some(mut scene) = Scene::set().await else { return };
    let victim = scene.operator.namespace("victim").await;
    victim.secret("creds", json!({"token": "never-shown"})).await;
    let (victim, elsewhere) = (victim.name, scene.operator.namespace("elsewhere").await.name);
    let object = curious(&elsewhere);
    let (written, told) = scene.dry_run(&victim, &object).await;
    assert!(written && EXISTENCE.iter().all(|said| told.contains(said)), "{told}");

    let mark = scene.operator.cluster.audit().mark().await.unwrap();
    let stranger = WebhookClient::new();
    for caller in [None, Some(&stranger)] {
        let told = scene.warnings(caller, &victim, &object).await;
        assert!(!EXISTENCE.iter().any(|said| told.contains(said)), "{told}");
    }
    let looked_up = async |scene: &Scene, namespaces: &[&String]| {
        let asked = scene.operator.cluster.audit().requests_of(&scene.operator.user).await.unwrap();
        asked.since(mark).only(|request| {
            let of_others = ["creds", "none", "private"].contains(&&*request.name);
            of_others && namespaces.contains(&&request.namespace)
        })
    };
    let found = looked_up(&scene, &[&victim, &elsewhere]).await;
    assert!(found.is_empty(), "{found:#?}");
    let unknown = "llsd_webhook_lookups_total{result=\"unknown_caller\"}";
    assert_eq!(scene.operator.process.figure(unknown).await, Some(2.0));
    let told = scene.warnings(Some(&scene.api_server), &victim, &object).await;
    assert!(EXISTENCE.iter().all(|said| told.contains(said)), "{told}");
    // Whoever writes in one namespace need not know what another has.
    assert!(!told.contains("private"), "{told}");
    assert!(looked_up(&scene, &[&elsewhere]).await.is_empty());
    neighbour::becomes_ready(&scene.operator.namespace("neighbour").await).await;

    // Without an authority nobody is known.
    let unknown = arguments(scene.port, None);
    scene.operator.restart(&as_texts(&unknown));
    scene.until_asked().await;
    let (written, told) = scene.dry_run(&victim, &object).await;
    assert!(written && !EXISTENCE.iter().any(|said| told.contains(said)), "{told}");
    let told = scene.warnings(Some(&scene.api_server), &victim, &object).await;
    assert!(!EXISTENCE.iter().any(|said| told.contains(said)), "{told}");
    assert!(!scene.operator.process.log().contains("never-shown"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_configuration_is_refused_before_anybody_wonders_why_it_has_no_effect() {
    let Some(scene) = Scene::set().await else { return };
    let broken = json!({
        "image-overrides": "starter: UPPER", "ingressDomian": "apps.example.com",
    });
    let (written, told) = scene.dry_run(names::NAMESPACE, &config_map(&broken)).await;
    assert!(!written, "{told}");
    let heading = format!("The ConfigMap \"{}\" is invalid", names::CONFIG_MAP);
    for said in [heading.as_str(), "data.image-overrides: starter: ", "did you mean ingressDomain?"]
    {
        assert!(told.contains(said), "{told}");
    }
    let fine = json!({"image-overrides": "starter: mirror.invalid/starter:1"});
    let (written, told) = scene.dry_run(names::NAMESPACE, &config_map(&fine)).await;
    assert!(written && told.is_empty(), "{told}");
    // It is the operator's own that is checked, and no other.
    let mut other = config_map(&broken);
    other["metadata"]["name"] = json!("somebody-elses");
    assert!(scene.dry_run(names::NAMESPACE, &other).await.0);
    assert!(scene.dry_run("default", &config_map(&broken)).await.0);
    neighbour::becomes_ready(&scene.operator.namespace("neighbour").await).await;
}
