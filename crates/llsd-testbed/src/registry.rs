//! A registry on loopback with images that carry a configuration, and the operator's permission to
//! use it.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use llsd_plan::releases::Distribution;
use llsd_testkit::{RegistryBuilder, RegistryServer, TestImage, User};
use serde_json::{Value, json};

/// The label with the configuration.
const INLINE: &str = "io.llamastack.config.base64";

/// A configuration that a server runs with.
pub fn configuration() -> &'static str {
    Distribution::all()["starter"].base()
}

/// An image with this configuration in its label.
pub fn labelled(configuration: &str) -> TestImage {
    TestImage::new()
        .label(INLINE, BASE64_STANDARD.encode(configuration))
        .label("org.opencontainers.image.version", "0.7.3")
}

/// What the operator's ConfigMap must say for registries on loopback that speak plain http.
pub fn allowed(registries: &[&RegistryServer]) -> Value {
    let hosts: Vec<&str> = registries
        .iter()
        .flat_map(|registry| [Some(registry.host()), registry.token_host()])
        .flatten()
        .collect();
    allowed_hosts(&hosts)
}

/// The same for hosts by their names.
pub fn allowed_hosts(hosts: &[impl AsRef<str>]) -> Value {
    let hosts: Vec<&str> = hosts.iter().map(AsRef::as_ref).collect();
    json!(json!({"insecureHosts": hosts, "privateHosts": hosts}).to_string())
}

/// A Secret by which images are pulled, as `kubectl create secret docker-registry` makes it.
pub fn pull_secret(name: &str, registry: &RegistryServer, user: &User) -> String {
    let auth = BASE64_STANDARD.encode(format!("{}:{}", user.name, user.password));
    let login = json!({"auths": {registry.host(): {"auth": auth}}});
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson",
        "metadata": {"name": name},
        "stringData": {".dockerconfigjson": login.to_string()},
    })
    .to_string()
}

/// Starts a registry on a thread of its own, so that a token service of it outlives the test that
/// happened to start it.
pub async fn start_for_all(builder: RegistryBuilder) -> RegistryServer {
    let (started, registry) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let _ = started.send(builder.start().await.unwrap());
            std::future::pending::<()>().await;
        });
    });
    registry.await.unwrap()
}
