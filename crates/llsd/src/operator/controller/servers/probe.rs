//! Asks a running server for its health, its release and its providers. Every answer is bounded in
//! size and time, and nothing is kept of a provider's configuration, where the server shows secrets, nor
//! of the text with which it says what ails a provider, where it may quote one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use llsd_plan::resource::Key;
use llsd_plan::status::{Answers, ProviderState, ServerAnswer, ServerProvider};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio_rustls::rustls;

use super::answers::Target;
use super::pinned_certificate::PinnedCertificate;

const TIME_LIMIT: Duration = Duration::from_secs(5);
const SIZE_LIMIT: usize = 1 << 20;

/// How servers are reached.
#[derive(Clone, Debug)]
pub struct ServerProbe {
    plain: reqwest::Client,
    /// Instead of the Service's URL, for an operator outside of the cluster.
    template: Option<String>,
}

#[derive(Deserialize)]
struct HealthResponse {
    #[serde(default)]
    status: String,
}

#[derive(Deserialize)]
struct Version {
    version: String,
}

#[derive(Deserialize)]
struct Providers {
    data: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    #[serde(default)]
    api: String,
    #[serde(default)]
    provider_id: String,
    #[serde(default)]
    provider_type: String,
    #[serde(default)]
    health: BTreeMap<String, serde_json::Value>,
}

impl ServerProbe {
    /// `template` may hold `{name}`, `{namespace}` and `{port}`.
    pub fn new(template: Option<String>) -> Result<Self, reqwest::Error> {
        let mut plain = builder();
        if template.as_ref().is_none_or(|url| !url.starts_with("https:")) {
            // The machine's authorities take memory, and nobody would ask them.
            plain = plain.tls_certs_only([]);
        }
        Ok(Self { plain: plain.build()?, template })
    }

    /// What the server at the Service's URL says. Where that is https, `certificate` is the one that it
    /// serves, in PEM. No token is ever sent: a tenant's image could keep it. A server that wants one is
    /// asked only what it tells everybody.
    pub async fn ask(
        &self,
        key: &Key,
        target: &Target,
        certificate: Option<&[u8]>,
    ) -> ServerAnswer {
        let url = &*target.url;
        let client = if url.starts_with("https:") {
            trusting(certificate.unwrap_or_default())
        } else {
            Ok(self.plain.clone())
        };
        let client = match client {
            Ok(client) => client,
            Err(why) => return ServerAnswer::Untrusted(why),
        };
        let url = self.address(key, url);
        Box::pin(ask(&client, &url, target.asks_callers))
            .await
            .map_or_else(|trouble| trouble, ServerAnswer::Answered)
    }

    fn address(&self, key: &Key, url: &str) -> String {
        let Some(template) = &self.template else { return url.to_owned() };
        let port = url.rsplit_once(':').map_or("8321", |(_, port)| port);
        template
            .replace("{name}", &key.name)
            .replace("{namespace}", &key.namespace)
            .replace("{port}", port)
    }
}

fn builder() -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .timeout(TIME_LIMIT)
        .connect_timeout(TIME_LIMIT)
        .redirect(reqwest::redirect::Policy::none())
        .pool_max_idle_per_host(0)
        .no_proxy()
}

/// Over TLS the operator trusts the certificate in the Secret that the server serves, and no other.
fn trusting(pem: &[u8]) -> Result<reqwest::Client, String> {
    let verifier = PinnedCertificate::from_pem(pem)?;
    let config = rustls::ClientConfig::builder()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    builder().use_preconfigured_tls(config).build().map_err(|error| error.to_string())
}

/// What the server answers; where nobody does, what is in the way.
async fn ask(
    client: &reqwest::Client,
    url: &str,
    asks_callers: bool,
) -> Result<Answers, ServerAnswer> {
    let health = match get::<HealthResponse>(client, &format!("{url}/v1/health")).await {
        Ok(health) if health.status.eq_ignore_ascii_case("ok") => Ok(()),
        Ok(health) => Err(format!("the server says {}", word(&health.status))),
        Err(ProbeFailure::Answer(why)) => Err(why),
        Err(ProbeFailure::Reach(trouble)) => return Err(trouble),
    };
    let version = get::<Version>(client, &format!("{url}/v1/version")).await.ok();
    let providers = if asks_callers {
        None
    } else {
        get::<Providers>(client, &format!("{url}/v1/providers")).await.ok()
    };
    Ok(Answers {
        health,
        version: version.map(|version| bounded(&version.version)),
        providers: providers.map(|listed| listed.data.iter().filter_map(provider).collect()),
    })
}

/// Up to 0.2.12 a provider that is switched off is listed with an empty id.
fn provider(listed: &Listed) -> Option<ServerProvider> {
    let state = listed.health.get("status").and_then(|value| value.as_str());
    (!listed.provider_id.is_empty()).then(|| ServerProvider {
        api: bounded(&listed.api),
        provider_id: bounded(&listed.provider_id),
        provider_type: bounded(&listed.provider_type),
        health: ProviderState::parse(state.unwrap_or_default()),
    })
}

/// One plain word as it is; anything else may be a text that quotes a secret, or another each time.
fn word(text: &str) -> &str {
    let is_word = text.len() <= 32 && text.chars().all(|c| c.is_ascii_alphabetic());
    if is_word && !text.is_empty() { text } else { "something else than OK" }
}

fn bounded(text: &str) -> String {
    text.chars().take(512).collect()
}

enum ProbeFailure {
    /// Nobody answered, or nobody who can be believed.
    Reach(ServerAnswer),
    /// Something answered, and not as a server should.
    Answer(String),
}

async fn get<T: DeserializeOwned>(client: &reqwest::Client, url: &str) -> Result<T, ProbeFailure> {
    // Without the address: the status shows it already, and without it the message is the same
    // each time.
    let reach = |error: reqwest::Error| ProbeFailure::Reach(reason(&error));
    let mut response = client.get(url).send().await.map_err(reach)?;
    let status = response.status();
    if !status.is_success() {
        return Err(ProbeFailure::Answer(format!("HTTP {}", status.as_u16())));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(reach)? {
        body.extend_from_slice(&chunk);
        if body.len() > SIZE_LIMIT {
            return Err(ProbeFailure::Answer("the answer is too large".to_owned()));
        }
    }
    let unclear = |_| ProbeFailure::Answer("the answer cannot be understood".to_owned());
    serde_json::from_slice(&body).map_err(unclear)
}

/// What is in the way, as far as the network tells it.
fn reason(error: &reqwest::Error) -> ServerAnswer {
    if error.is_timeout() {
        return ServerAnswer::Unreachable("it does not answer in time".to_owned());
    }
    let mut deepest: &dyn std::error::Error = error;
    let mut untrusted = false;
    while let Some(source) = deepest.source() {
        deepest = source;
        untrusted |= is_of_certificate(deepest);
    }
    let deepest = deepest.to_string();
    if untrusted {
        return ServerAnswer::Untrusted(format!(
            "its certificate is not the one in its Secret ({deepest}); pods that run since before \
             the Secret changed still serve the old one"
        ));
    }
    ServerAnswer::Unreachable(if deepest.contains("lookup address information") {
        // Resolvers word it one way or another from one moment to the next.
        "its name cannot be resolved".to_owned()
    } else if error.is_connect() {
        format!("no connection: {deepest}")
    } else {
        format!("the connection broke: {deepest}")
    })
}

/// Whether a handshake failed over the certificate. Errors of input and output hide what they hold, and
/// may hold each other.
fn is_of_certificate(error: &(dyn std::error::Error + 'static)) -> bool {
    if let Some(error) = error.downcast_ref::<std::io::Error>() {
        return error.get_ref().is_some_and(|inner| is_of_certificate(inner));
    }
    matches!(error.downcast_ref(), Some(rustls::Error::InvalidCertificate(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_with_a_certificate_is_known_however_deep_it_is_wrapped() {
        let refused = rustls::Error::InvalidCertificate(rustls::CertificateError::Expired);
        let wrapped = std::io::Error::other(std::io::Error::other(refused.clone()));
        assert!(is_of_certificate(&refused) && is_of_certificate(&wrapped));
        let other = std::io::Error::other(rustls::Error::HandshakeNotComplete);
        assert!(!is_of_certificate(&other));
        assert!(!is_of_certificate(&std::io::Error::from(std::io::ErrorKind::ConnectionRefused)));
    }

    #[test]
    fn a_text_that_may_hold_anything_is_not_repeated() {
        assert_eq!(word("Error"), "Error");
        for text in ["", "sk-1234", "no key sk", "Ω", &"a".repeat(33)] {
            assert_eq!(word(text), "something else than OK");
        }
    }
}
