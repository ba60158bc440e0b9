//! The status tells the truth about resource and server, to people and to tools, and rests while
//! nothing changes.

use std::time::Duration;

use llsd_testkit::{InUse, PodState, WhileUsed};
use serde_json::{Value, json};

use llsd_testbed::namespace::DISTRIBUTION;
use llsd_testbed::namespace::condition;
use llsd_testbed::story::{config, vllm, vllm_with_key};
use llsd_testbed::stub_server::StubServer;
use llsd_testbed::test_operator::TestOperator;

struct World {
    operator: TestOperator,
    /// Answers for the server of each namespace, below `/<namespace>`.
    server: StubServer,
}

const LAST_WORDS: &str = "start: the key is sk-shown-in-clear\nValueError: no sk-shown-in-clear\n\
                          ModuleNotFoundError: No module named 'torch'\nExiting sk-shown-in-clear\n";
const TOLD: &str = "exit code 1: ModuleNotFoundError: No module named 'torch' (kubectl logs demo-";

/// Pods of namespaces `crash-…` crash, all others run. A resource at rest is looked at every other
/// second.
async fn world() -> Option<InUse<World>> {
    static WORLD: WhileUsed<World> = WhileUsed::new();
    let start = async || {
        let server = StubServer::plain();
        let template = format!("http://{}/{{namespace}}", server.host());
        let arguments = ["--resync", "2", "--server-url-template", &template];
        let operator = TestOperator::start(&arguments).await?;
        operator.kubelet.decide(|pod| match &pod.metadata.namespace {
            Some(namespace) if namespace.starts_with("crash") => PodState::crash_loop(LAST_WORDS),
            _ => PodState::Ready,
        });
        Some(World { operator, server })
    };
    WORLD.get(start).await
}

/// What a server says of its vLLM provider; like the real one it shows the key.
fn vllm_provider(health: &str, message: &str) -> Value {
    json!({
        "api": "inference", "provider_id": "vllm", "provider_type": "remote::vllm",
        "config": {"base_url": "http://vllm:8000/v1", "api_token": "sk-shown-in-clear"},
        "health": {"status": health, "message": message},
    })
}

#[tokio::test]
async fn tools_that_wait_see_when_a_resource_is_ready() {
    let Some(world) = world().await else { return };
    let namespace = world.operator.namespace("waiting").await;
    namespace.distribution("demo", vllm()).await;
    let wait = |more: &'static str| {
        let resource = "llsd/demo";
        ["wait", "-n", &namespace.name, more, resource, "--timeout=60s"].map(str::to_owned)
    };
    let kubectl = async |args: [String; 6]| {
        let args = args.each_ref().map(String::as_str);
        world.operator.cluster.kubectl(&args, None).await.unwrap().expect_success();
    };
    kubectl(wait("--for=condition=Ready")).await;
    kubectl(wait("--for=jsonpath={.status.phase}=Ready")).await;
    let ready = namespace.until_ready("demo").await;
    for unwanted in ["Reconciling", "Stalled"] {
        assert!(condition(&ready, unwanted).is_null(), "{ready:#}");
    }
    // A change that cannot be carried out: nobody waits in vain.
    let wrong = json!({"spec": {"resources": {"models": [{"name": "a", "provider": "no"}]}}});
    namespace.patch(DISTRIBUTION, "demo", &wrong).await;
    kubectl(wait("--for=condition=Stalled")).await;
    let stalled = namespace.get(DISTRIBUTION, "demo").await.unwrap();
    assert_eq!(condition(&stalled, "Ready")["status"], "False");
    assert_eq!(stalled["status"]["observedGeneration"], stalled["metadata"]["generation"]);
    assert!(condition(&stalled, "Reconciling").is_null());
}

#[tokio::test]
async fn every_field_says_what_runs() {
    let Some(world) = world().await else {
        return;
    };
    let namespace = world.operator.namespace("fields").await;
    world.server.healthy(&format!("/{}", namespace.name), &json!([]));
    let mut spec = vllm();
    spec["resources"] = json!({"models": ["llama"]});
    spec["workload"] = json!({"replicas": 2});
    namespace.distribution("demo", spec).await;
    namespace.until_ready("demo").await;
    namespace.patch(DISTRIBUTION, "demo", &json!({"spec": {"networking": {"port": 9000}}})).await;
    let ready = namespace.until_ready("demo").await;
    let status = &ready["status"];
    assert_eq!(ready["metadata"]["generation"], 2);
    assert_eq!(status["observedGeneration"], 2);
    for condition in status["conditions"].as_array().unwrap() {
        assert_eq!(condition["observedGeneration"], 2, "{condition}");
    }
    assert_eq!(status["availableReplicas"], 2);
    let url = format!("http://demo-service.{}.svc.cluster.local:9000", namespace.name);
    assert_eq!(status["serviceURL"], url);
    assert_eq!(status.get("routeURL"), None);
    let generation = &status["configGeneration"];
    let file = config(&namespace, &ready).await;
    let named = namespace.get("ConfigMap", generation["configMapName"].as_str().unwrap()).await;
    assert_eq!(generation["resourceCount"], 1);
    assert_eq!(generation["configVersion"], 2);
    assert!(generation["generatedAt"].is_string());
    let unconditional = |entry: &&Value| !entry["provider_id"].as_str().unwrap().contains("${env");
    let apis = file["providers"].as_object().unwrap().values();
    let entries = apis.flat_map(|entries| entries.as_array().unwrap());
    assert_eq!(generation["providerCount"], entries.filter(unconditional).count());
    let hash = &named.unwrap()["metadata"]["annotations"]["llamastack.io/config-hash"];
    assert!(hash.is_string());
    let resolved = &status["resolvedDistribution"];
    assert_eq!(resolved["configSource"], "Embedded");
    assert!(resolved["image"].as_str().unwrap().contains("distribution-starter"));
    assert!(resolved["configHash"].is_string());
    assert_eq!(status["distributionConfig"]["activeDistribution"], "starter");
    assert_eq!(status["version"]["operatorVersion"], env!("CARGO_PKG_VERSION"));
    let shown = ["get", "llsd", "-n", &namespace.name, "demo", "--no-headers"];
    let shown = world.operator.cluster.kubectl(&shown, None).await.unwrap().expect_success();
    assert!(shown.contains("Ready"), "{shown}");
}

#[tokio::test]
async fn the_running_server_is_asked_and_its_secrets_are_left_there() {
    let Some(world) = world().await else { return };
    let namespace = world.operator.namespace("asked").await;
    let below = format!("/{}", namespace.name);
    world.server.healthy(&below, &json!([vllm_provider("OK", "")]));
    namespace.secret("vllm-creds", json!({"token": "sk-shown-in-clear"})).await;
    namespace.distribution("demo", vllm_with_key()).await;
    let asked = namespace.until_condition("demo", "HealthCheck", "True", "HealthCheckPassed").await;
    assert_eq!(asked["status"]["version"]["llamaStackServerVersion"], "0.7.3");
    let providers = &asked["status"]["distributionConfig"]["providers"];
    assert_eq!(providers.as_array().unwrap().len(), 1);
    assert_eq!(providers[0]["provider_type"], "remote::vllm");
    assert_eq!(providers[0]["health"], json!({"status": "OK", "message": ""}));
    let config = &providers[0]["config"];
    assert_eq!(config["api_token"], "${env.LLSD_VLLM_API_KEY}", "the planned one");
    assert_eq!(config["base_url"], "http://vllm:8000/v1");
    namespace.until_ready("demo").await;

    // Its health is told, and decides nothing: the readiness probe asks the same.
    world.server.answer(&format!("{below}/v1/health"), json!({"status": "Error"}));
    let quoting = "401: no such key: sk-shown-in-clear";
    let providers = json!({"data": [vllm_provider("Error", quoting)]});
    world.server.answer(&format!("{below}/v1/providers"), providers);
    let ill = namespace.until_condition("demo", "HealthCheck", "False", "HealthCheckFailed").await;
    assert_eq!(condition(&ill, "HealthCheck")["message"], "the server says Error");
    assert_eq!(condition(&ill, "Ready")["status"], "True");
    let health = &ill["status"]["distributionConfig"]["providers"][0]["health"];
    let said = health["message"].as_str().unwrap();
    assert!(said.contains("vllm is unhealthy") && said.contains("/v1/providers/vllm"), "{said}");
    for kind in [DISTRIBUTION, "Event"] {
        let all = json!(namespace.list(kind).await).to_string();
        assert!(!all.contains("sk-shown-in-clear"), "the key stands in a {kind}");
    }
    assert!(!world.operator.process.log().contains("sk-shown-in-clear"));
}

#[tokio::test]
async fn a_status_rests_while_nothing_changes() {
    let Some(world) = world().await else { return };
    let namespace = world.operator.namespace("resting").await;
    let providers = json!([vllm_provider("OK", "")]);
    world.server.healthy(&format!("/{}", namespace.name), &providers);
    namespace.distribution("demo", vllm()).await;
    namespace.until_condition("demo", "HealthCheck", "True", "HealthCheckPassed").await;
    namespace.until_ready("demo").await;
    let audit = world.operator.cluster.audit();
    let mark = namespace.quiet(&world.operator.user).await;
    let ready = namespace.get(DISTRIBUTION, "demo").await.unwrap();
    tokio::time::sleep(Duration::from_secs(20)).await;
    let later = namespace.get(DISTRIBUTION, "demo").await.unwrap();
    assert_eq!(later["metadata"]["resourceVersion"], ready["metadata"]["resourceVersion"]);
    let requests = audit.requests_of(&world.operator.user).await.unwrap().since(mark);
    let here = requests.only(|request| request.namespace == namespace.name);
    assert!(here.writes().is_empty(), "{:?}", here.by_verb_and_resource());
}

#[tokio::test]
async fn the_last_words_of_a_crashing_server_are_told() {
    let Some(world) = world().await else { return };
    let namespace = world.operator.namespace("crash").await;
    namespace.distribution("demo", vllm()).await;
    let failing =
        namespace.until_condition("demo", "DeploymentReady", "False", "DeploymentFailed").await;
    let said = condition(&failing, "Ready")["message"].as_str().unwrap().to_owned();
    assert!(said.contains(&format!("CrashLoopBackOff (llama-stack): {TOLD}")), "{said}");
    assert_eq!(condition(&failing, "Ready")["reason"], "ServerFailing");
    assert_eq!(condition(&failing, "Available")["reason"], "NoReplicasAvailable");
    assert_eq!(failing["status"]["phase"], "Failed");
    assert_eq!(failing["status"]["availableReplicas"], 0);
    assert_eq!(condition(&failing, "HealthCheck")["reason"], "ServerNotAsked");
    namespace.until_event("demo", "ServerFailing", TOLD).await;
    for kind in [DISTRIBUTION, "Event"] {
        let all = json!(namespace.list(kind).await).to_string();
        assert!(!all.contains("sk-shown-in-clear"), "what the server said stands in a {kind}");
    }
}

#[tokio::test]
async fn a_resource_that_goes_says_so() {
    let Some(world) = world().await else {
        return;
    };
    let namespace = world.operator.namespace("going").await;
    namespace.distribution("demo", vllm()).await;
    namespace.until_ready("demo").await;
    let held = json!({"metadata": {"finalizers": ["example.com/hold"]}});
    namespace.patch("Deployment", "demo", &held).await;
    let args =
        ["delete", "llsd/demo", "-n", &namespace.name, "--cascade=foreground", "--wait=false"];
    world.operator.cluster.kubectl(&args, None).await.unwrap().expect_success();
    let going = namespace
        .until(DISTRIBUTION, "demo", "is Terminating", |object| {
            object["status"]["phase"] == "Terminating"
        })
        .await;
    assert_eq!(condition(&going, "Ready")["reason"], "Terminating");
    assert_eq!(condition(&going, "Ready")["status"], "False");
    let free = json!({"metadata": {"finalizers": null}});
    namespace.patch("Deployment", "demo", &free).await;
    namespace.until_gone(DISTRIBUTION, "demo").await;
    namespace.until_gone("Deployment", "demo").await;
    namespace.until_gone("Service", "demo-service").await;
}

/// The operator trusts the certificate in the Secret, whoever issued it, and no other.
#[tokio::test]
async fn over_tls_the_certificate_of_the_secret_is_trusted_and_no_other() {
    let names = || ["some.other.name".to_owned()];
    let served = rcgen::generate_simple_self_signed(names()).unwrap();
    let other = rcgen::generate_simple_self_signed(names()).unwrap();
    let server = StubServer::with_tls(&served.cert.pem(), &served.signing_key.serialize_pem());
    let template = format!("https://{}", server.host());
    let arguments = ["--resync", "2", "--server-url-template", &template];
    let Some(operator) = TestOperator::start(&arguments).await else { return };
    server.healthy("", &json!([vllm_provider("OK", "")]));
    let namespace = operator.namespace("tls").await;
    let key = served.signing_key.serialize_pem();
    let pair = |certificate: String| json!({"tls.crt": certificate, "tls.key": key});
    let mut spec = vllm();
    spec["networking"] = json!({"tls": {"enabled": true, "secretName": "llama-tls"}});
    namespace.secret("llama-tls", pair(served.cert.pem())).await;
    namespace.distribution("demo", spec.clone()).await;
    let asked = namespace.until_condition("demo", "HealthCheck", "True", "HealthCheckPassed").await;
    assert_eq!(asked["status"]["version"]["llamaStackServerVersion"], "0.7.3");
    spec["networking"]["tls"]["secretName"] = json!("other-tls");
    namespace.secret("other-tls", pair(other.cert.pem())).await;
    namespace.distribution("demo", spec).await;
    let refused =
        namespace.until_condition("demo", "HealthCheck", "Unknown", "ServerUntrusted").await;
    let said = condition(&refused, "HealthCheck")["message"].as_str().unwrap();
    assert!(said.contains("certificate"), "{said}");
}
