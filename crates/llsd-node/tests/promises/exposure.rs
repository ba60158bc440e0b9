//! Who reaches a server, and under which certificate: docs/tasks/exposure.md, tls.md and network-policy.md.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use llsd_node::NodeOptions;
use llsd_node::product::{Product, SERVED_MODEL};
use llsd_testkit::Pki;
use serde_json::{Value, json};

use crate::scene::{
    PATIENCE, TEAM, apply_until_ready, condition, installed, is_ready, kept, nothing_failed,
    nothing_failed_in, pods, resource, url,
};

/// Behind an Ingress, then behind a Gateway.
const OPEN: &str = "open";
const HOST: &str = "llama.example.com";
const HOST_SECRET: &str = "llama-example-com";
/// Where Traefik and its Gateway are.
const GATEWAYS: &str = "gateways";
/// Serves TLS itself.
const SAFE: &str = "safe";
const SAFE_SECRET: &str = "safe-tls";
/// Where other clients are: of the server that serves TLS, and of none.
const APPS: &str = "apps";
const OTHERS: &str = "others";

#[tokio::test]
async fn a_server_is_reached_under_its_certificate_by_those_who_may() {
    let Some(mut product) = installed(NodeOptions::default()).await else { return };
    let folder = tempfile::tempdir().unwrap();
    let certificates = Certificates::new(folder.path());
    for namespace in [GATEWAYS, APPS, OTHERS] {
        product.kubectl(&["create", "namespace", namespace]).await.unwrap();
    }
    for namespace in [TEAM, GATEWAYS] {
        certificates.issue(&product, namespace, HOST_SECRET, "of the host").await;
    }
    certificates.issue(&product, TEAM, SAFE_SECRET, "the first").await;
    // Both start at once.
    let begun = Instant::now();
    for server in [open(&ingress()), safe()] {
        product.apply(TEAM, &server.to_string()).await.unwrap();
    }
    product.start_traefik(GATEWAYS).await.unwrap();
    let ready = product.until(TEAM, OPEN, PATIENCE, is_ready).await.unwrap();
    product.start_client(TEAM, url(&ready)).await.unwrap();

    let ways = Ways::new(&product, &certificates).await;
    through_an_ingress(&product, &ways, begun).await;
    through_a_gateway(&product, &ways).await;
    a_gateway_refuses(&product, &ways).await;
    over_tls(&product, &certificates, begun).await;
    a_certificate_is_renewed(&product, &certificates).await;
    only_the_allowed_connect(&mut product, &ways).await;
    product.node.stop().unwrap();
}

fn open(expose: &Value) -> Value {
    resource(OPEN, json!({"networking": {"expose": expose}}))
}

fn guarded(allowed_from: &Value) -> Value {
    resource(OPEN, json!({"networking": {"expose": gateway(), "allowedFrom": allowed_from}}))
}

fn safe() -> Value {
    resource(SAFE, json!({"networking": {"tls": {"enabled": true, "secretName": SAFE_SECRET}}}))
}

fn ingress() -> Value {
    json!({
        "hostname": HOST,
        "className": "traefik",
        "tlsSecretName": HOST_SECRET,
        "annotations": {"nginx.ingress.kubernetes.io/proxy-read-timeout": "3600"},
    })
}

fn gateway() -> Value {
    let gateway = json!({"name": "public", "namespace": GATEWAYS, "sectionName": "https"});
    json!({"hostname": HOST, "gateway": gateway})
}

/// An authority, and what it signs.
struct Certificates {
    pki: Pki,
    authority: PathBuf,
}

impl Certificates {
    fn new(folder: &Path) -> Self {
        let pki = Pki::create(folder.join("pki")).unwrap();
        let authority = pki.authority_file();
        Self { pki, authority }
    }

    /// A new one in a Secret, for the host and for the server that serves TLS itself.
    async fn issue(&self, product: &Product, namespace: &str, secret: &str, subject: &str) {
        let service = format!("{SAFE}-service.{TEAM}.svc.cluster.local");
        let issued = self.pki.server_at(subject, &[HOST, &service]).unwrap();
        let [certificate, key] =
            [&issued.certificate, &issued.key].map(|file| fs::read_to_string(file).unwrap());
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
            "metadata": {"name": secret},
            "stringData": {"tls.crt": certificate, "tls.key": key},
        });
        product.apply(namespace, &secret.to_string()).await.unwrap();
    }

    /// The flags by which curl trusts it alone.
    fn trusting(&self) -> [String; 2] {
        ["--cacert".to_owned(), self.authority.display().to_string()]
    }
}

/// How curl comes in from outside.
struct Ways(Vec<String>);

impl Ways {
    async fn new(product: &Product, certificates: &Certificates) -> Self {
        let through = product.through_traefik(GATEWAYS, HOST).await.unwrap();
        Self([certificates.trusting(), through].concat())
    }

    fn chat(&self, product: &Product, url: &str) -> anyhow::Result<String> {
        let flags: Vec<&str> = self.0.iter().map(String::as_str).collect();
        product.chat_by(&flags, url, SERVED_MODEL, "Who answers?")
    }

    /// Asks at the address that the resource tells.
    async fn answers(&self, product: &Product) {
        let resource = product.resource(TEAM, OPEN).await.unwrap();
        assert_eq!(resource["status"]["routeURL"], format!("https://{HOST}"));
        self.host_answers(product).await;
    }

    /// Asks until Traefik has seen what it has to serve.
    async fn host_answers(&self, product: &Product) {
        let (url, begun) = (format!("https://{HOST}"), Instant::now());
        let answer = loop {
            match self.chat(product, &url) {
                Ok(answer) => break answer,
                Err(error) => assert!(begun.elapsed() < Duration::from_mins(1), "{error:#}"),
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        };
        assert!(answer.contains("Who answers?"), "{answer}");
    }
}

async fn through_an_ingress(product: &Product, ways: &Ways, begun: Instant) {
    ways.answers(product).await;
    kept("Chat through an Ingress, over TLS", begun, "");
}

async fn through_a_gateway(product: &Product, ways: &Ways) {
    let begun = Instant::now();
    let before = pods(product, OPEN).await;
    product.apply(TEAM, &open(&gateway()).to_string()).await.unwrap();
    let told = product.until(TEAM, OPEN, PATIENCE, |it| not_ready_for(it, "KindNotServed")).await;
    told.unwrap();
    ways.host_answers(product).await;
    kept("Without the Gateway API, what exposed a server before stays and answers", begun, "");

    let begun = Instant::now();
    product.install_gateway_api(GATEWAYS).await.unwrap();
    product.apply(GATEWAYS, &public("All").to_string()).await.unwrap();
    product.until(TEAM, OPEN, PATIENCE, is_ready).await.unwrap();
    let gone = ["wait", "--for=delete", "-n", TEAM, "ingress/open", "--timeout=1m"];
    product.kubectl(&gone).await.unwrap();
    for accepted in ["Accepted", "ResolvedRefs"] {
        let path = "jsonpath={.status.parents[0].conditions[?(@.type==\"";
        let path = format!("{path}{accepted}\")].status}}=True");
        product.wait(TEAM, "httproute/open", &path).await.unwrap();
    }
    ways.answers(product).await;
    assert_eq!(pods(product, OPEN).await, before, "no pod was replaced");
    let asked = nothing_failed(product).await;
    let measured = format!("{asked} requests, none lost");
    kept("The Gateway API is installed: chat through an HTTPRoute, over TLS", begun, &measured);
}

/// The Gateway of docs/tasks/exposure.md, which takes routes from these namespaces.
fn public(from: &str) -> Value {
    json!({
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {"name": "public"},
        "spec": {
            "gatewayClassName": "traefik",
            "listeners": [{
                "name": "https",
                "port": 443,
                "protocol": "HTTPS",
                "tls": {"certificateRefs": [{"name": HOST_SECRET}]},
                "allowedRoutes": {"namespaces": {"from": from}},
            }],
        },
    })
}

fn not_ready_for(resource: &Value, reason: &str) -> bool {
    let ready = condition(resource, "Ready");
    ready["status"] == "False" && ready["reason"] == reason
}

async fn a_gateway_refuses(product: &Product, ways: &Ways) {
    let begun = Instant::now();
    product.apply(GATEWAYS, &public("Same").to_string()).await.unwrap();
    let is_told = |resource: &Value| not_ready_for(resource, "RouteNotAdmitted");
    let told = product.until(TEAM, OPEN, PATIENCE, is_told).await.unwrap();
    let seconds = begun.elapsed().as_secs();
    let message = condition(&told, "Ready")["message"].to_string();
    assert!(message.contains("NotAllowedByListeners"), "{message}");
    product.apply(GATEWAYS, &public("All").to_string()).await.unwrap();
    product.until(TEAM, OPEN, PATIENCE, is_ready).await.unwrap();
    ways.answers(product).await;
    let measured = format!("told after {seconds} s");
    kept("A route that its Gateway refuses is told, and when it takes it", begun, &measured);
}

async fn over_tls(product: &Product, certificates: &Certificates, begun: Instant) {
    let ready = product.until(TEAM, SAFE, PATIENCE, is_ready).await.unwrap();
    let url = url(&ready);
    assert!(url.starts_with("https://"), "{url}");
    let trusting = certificates.trusting();
    let trusting: Vec<&str> = trusting.iter().map(String::as_str).collect();
    let answer = product.chat_by(&trusting, url, SERVED_MODEL, "Who answers?").unwrap();
    assert!(answer.contains("Who answers?"), "{answer}");
    assert!(product.chat(&url.replace("https:", "http:"), "Who?").is_err(), "HTTPS only");
    assert!(served(product, certificates, url).contains("the first"));
    let authority = fs::read_to_string(&certificates.authority).unwrap();
    product.start_trusting_client(APPS, url, &authority).await.unwrap();
    kept("Chat with a server that serves TLS itself", begun, "");
}

/// The certificates that a server shows, as curl tells them.
fn served(product: &Product, certificates: &Certificates, url: &str) -> String {
    let [trusting, authority] = certificates.trusting();
    let health = format!("{url}/v1/health");
    let show = ["--output", "/dev/null", "--write-out", "%{certs}", &health];
    product.curl(&[&[trusting.as_str(), &authority], &show[..]].concat()).unwrap()
}

async fn a_certificate_is_renewed(product: &Product, certificates: &Certificates) {
    let begun = Instant::now();
    let before = pods(product, SAFE).await;
    let safe = product.resource(TEAM, SAFE).await.unwrap();
    certificates.issue(product, TEAM, SAFE_SECRET, "the second").await;
    while !served(product, certificates, url(&safe)).contains("the second") {
        assert!(begun.elapsed() < PATIENCE, "the old certificate is served");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let seen = begun.elapsed().as_secs();
    let gone = [&["wait", "-n", TEAM, "--for=delete", "--timeout=3m"], &as_words(&before)[..]];
    product.kubectl(&gone.concat()).await.unwrap();
    product.until(TEAM, SAFE, PATIENCE, is_ready).await.unwrap();
    assert!(served(product, certificates, url(&safe)).contains("the second"));
    let asked = nothing_failed_in(product, APPS).await;
    let measured = format!("served after {seen} s; {asked} requests, none lost");
    kept("A renewed certificate reaches the clients", begun, &measured);
}

fn as_words(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

async fn only_the_allowed_connect(product: &mut Product, ways: &Ways) {
    product.start_model(OTHERS).await.unwrap();
    let resource = product.resource(TEAM, OPEN).await.unwrap();
    let url = url(&resource);
    product.start_askers(OTHERS, url, 0).await.unwrap();
    product.enforce_network_policies().await.unwrap();
    let callers = [(APPS, "client"), (OTHERS, "client"), (OTHERS, "vllm")];
    reached_by(product, url, &callers, [true, true, true]).await;

    let begun = Instant::now();
    let mut allowed = json!({"namespaces": [GATEWAYS, APPS]});
    apply_until_ready(product, &guarded(&allowed)).await;
    reached_by(product, url, &callers, [true, false, false]).await;
    ways.answers(product).await;
    kept("`allowedFrom` admits the pods of the namespaces that it names alone", begun, "");

    let begun = Instant::now();
    allowed["pods"] = json!([{"namespace": OTHERS, "labels": {"app": "client"}}]);
    apply_until_ready(product, &guarded(&allowed)).await;
    reached_by(product, url, &callers, [true, true, false]).await;
    kept("`allowedFrom` admits pods by their labels", begun, "");

    // The operator asks for the server's health through the same policy.
    let asked = nothing_failed(product).await;
    assert!(is_ready(&product.resource(TEAM, OPEN).await.unwrap()));
    let measured = format!("{asked} requests, none lost");
    kept(
        "Under a policy, pods of the server's own namespace and the operator connect",
        begun,
        &measured,
    );
}

/// Waits until just those pods reach the server that are expected to.
async fn reached_by<const N: usize>(
    product: &Product,
    url: &str,
    callers: &[(&str, &str); N],
    expected: [bool; N],
) {
    let begun = Instant::now();
    loop {
        let mut reached = [false; N];
        for (reached, (namespace, deployment)) in reached.iter_mut().zip(callers) {
            *reached = reaches(product, url, namespace, deployment).await;
        }
        if reached == expected {
            return;
        }
        let late = begun.elapsed() > Duration::from_mins(1);
        assert!(!late, "{callers:?} {reached:?}, not {expected:?}");
    }
}

async fn reaches(product: &Product, url: &str, namespace: &str, deployment: &str) -> bool {
    let asking =
        format!("from urllib.request import urlopen as u; u('{url}/v1/health', timeout=3)");
    let deployment = format!("deployment/{deployment}");
    let ask = ["exec", "-n", namespace, &deployment, "--", "python3", "-c", &asking];
    product.kubectl(&ask).await.is_ok()
}
