//! What the tests of this crate share: images with a configuration, and short ways to ask.

use std::{sync::Arc, time::Duration};

use llsd_registry::{Config, Credential, Error, Image, Reference, Registry, mirrors::HostPattern};
use llsd_testkit::{RegistryServer, TestImage, User};

/// `text` in base64.
pub fn encoded(text: &str) -> String {
    use base64::{Engine, prelude::BASE64_STANDARD};
    BASE64_STANDARD.encode(text)
}

/// An image with its configuration in a label.
pub fn labelled(text: &str) -> TestImage {
    TestImage::new().label("io.llamastack.config.base64", encoded(text))
}

pub fn basic(user: &User) -> Credential {
    Credential::Basic { username: user.name.clone(), password: user.password.clone() }
}

/// Exactly this host.
pub fn only(host: &str) -> HostPattern {
    HostPattern::parse(host).unwrap()
}

/// Plain http on loopback, as an operator would have to configure it.
pub fn allow_plain(config: &mut Config, host: &str) {
    config.registries.allow_plain_http(only(host));
    config.registries.allow_private(only(host));
}

/// A configuration that allows exactly what a test registry needs.
pub fn config(server: &RegistryServer) -> Config {
    let mut config = Config::default();
    config.registries.allow_private(only(server.host()));
    match server.authority() {
        Some(pem) => config.registries.trust(only(server.host()), pem).unwrap(),
        None => config.registries.allow_plain_http(only(server.host())),
    }
    if let Some(host) = server.token_host() {
        allow_plain(&mut config, host);
    }
    // Short, so that a test of failures does not wait.
    config.limits.failure_memory = Duration::from_millis(300);
    config
}

pub fn registry(server: &RegistryServer) -> Registry {
    Registry::new(config(server))
}

pub async fn ask(
    registry: &Registry,
    image: &str,
    credentials: &[Credential],
) -> Result<Arc<Image>, Error> {
    let reference: Reference = image.parse()?;
    registry.find(&reference, &credentials.to_vec()).await
}

/// The configuration's text.
pub async fn text(
    registry: &Registry,
    image: &str,
    credentials: &[Credential],
) -> Result<String, Error> {
    let image = ask(registry, image, credentials).await?;
    Ok(image.base.clone()?.expect("a configuration").text)
}
