//! Turns a challenge and a credential into what the `Authorization` header of a request says.

use std::time::{Duration, Instant};

use base64::{Engine, prelude::BASE64_STANDARD};
use moka::future::Cache;
use reqwest::{Method, StatusCode, Url, header::HeaderValue};
use serde::Deserialize;

use crate::{
    Credential, Error,
    challenge::Challenge,
    identity::Identity,
    transport::{Ask, Payload, Transport, body, host_of},
};

/// What registries mean when they do not say how long a token lives.
const DEFAULT_LIFE: Duration = Duration::from_mins(1);
const LONGEST_LIFE: Duration = Duration::from_hours(1);
/// A token is renewed this long before its end, for clocks and slow requests.
const MARGIN: Duration = Duration::from_secs(10);
/// Docker's convention: with this user name, the password is an identity token.
const TOKEN_USER: &str = "<token>";

/// Everything that a token depends on. The identity keeps one asker's token from another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct TokenKey {
    host: String,
    realm: String,
    service: Option<String>,
    scope: String,
    identity: Identity,
}

#[derive(Clone)]
struct Token {
    header: HeaderValue,
    renew_at: Instant,
}

pub(crate) struct Tokens {
    known: Cache<TokenKey, Token>,
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tokens(…)")
    }
}

/// For whom and for what a request is authorised.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asker<'a> {
    pub(crate) host: &'a str,
    pub(crate) repository: &'a str,
    pub(crate) credential: Option<&'a Credential>,
    /// What is to be done there, such as `repository:a/b:pull`; several are separated by spaces.
    pub(crate) scope: &'a str,
}

impl Tokens {
    pub(crate) fn new() -> Self {
        Self { known: Cache::builder().max_capacity(10_000).time_to_live(LONGEST_LIFE).build() }
    }

    /// The header to send, or none where nothing is asked or nothing is there to answer with.
    /// `renew` asks for a new token where the known one was not accepted.
    pub(crate) async fn authorization(
        &self,
        transport: &Transport,
        asker: Asker<'_>,
        challenge: Option<&Challenge>,
        renew: bool,
    ) -> Result<Option<HeaderValue>, Error> {
        match (challenge, asker.credential) {
            (Some(_), Some(Credential::RegistryToken(token))) => bearer(token).map(Some),
            (Some(Challenge::Basic), Some(Credential::Basic { username, password })) => {
                basic(username, password).map(Some)
            }
            (Some(Challenge::Bearer { realm, service, scope }), credential) => {
                let scope = scope.clone().unwrap_or_else(|| asker.scope.to_owned());
                let key = TokenKey {
                    host: asker.host.to_owned(),
                    realm: realm.clone(),
                    service: service.clone(),
                    scope,
                    identity: Identity::from_credential(credential),
                };
                self.token(transport, key, asker, renew).await.map(Some)
            }
            _ => Ok(None),
        }
    }

    async fn token(
        &self,
        transport: &Transport,
        key: TokenKey,
        asker: Asker<'_>,
        renew: bool,
    ) -> Result<HeaderValue, Error> {
        let stale = |token: &Token| token.renew_at <= Instant::now();
        if renew || self.known.get(&key).await.as_ref().is_some_and(stale) {
            self.known.invalidate(&key).await;
        }
        // Asks for the same token at the same time are one request.
        let fetch = Box::pin(fetch(transport, &key, asker));
        let token = self.known.try_get_with_by_ref(&key, fetch).await;
        token.map(|token| token.header).map_err(|error| (*error).clone())
    }
}

async fn fetch(transport: &Transport, key: &TokenKey, asker: Asker<'_>) -> Result<Token, Error> {
    let url = realm(transport, key)?;
    let at = format!("{}/{}", asker.host, asker.repository);
    let host = host_of(&url);
    let mut ask = Ask::new(Method::GET, url);
    let refresh = match asker.credential {
        Some(Credential::Basic { username, password }) if username == TOKEN_USER => Some(password),
        Some(Credential::IdentityToken(token)) => Some(token),
        _ => None,
    };
    if let Some(token) = refresh {
        ask.method = Method::POST;
        let mut form = vec![
            ("grant_type", "refresh_token".to_owned()),
            ("client_id", "llsd".to_owned()),
            ("refresh_token", token.clone()),
            ("scope", key.scope.clone()),
        ];
        form.extend(key.service.clone().map(|service| ("service", service)));
        ask.payload = Some(Payload::Form(form));
    } else {
        if let Some(Credential::Basic { username, password }) = asker.credential {
            ask.authorization = Some(basic(username, password)?);
        }
        let mut query = ask.url.query_pairs_mut();
        for scope in key.scope.split_whitespace() {
            query.append_pair("scope", scope);
        }
        if let Some(service) = &key.service {
            query.append_pair("service", service);
        }
        drop(query);
    }
    let response = transport.send(ask).await?;
    match response.status() {
        StatusCode::OK => {}
        StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            return Err(Error::Unauthorised { at });
        }
        status => return Err(Error::Unexpected { host, status: status.as_u16() }),
    }
    let what = format!("the token of {host}");
    let content = body(response, transport.config.limits.token, &what).await?;
    // The parser's own message could quote a piece of the token.
    let answer: TokenResponse = serde_json::from_slice(&content)
        .map_err(|_| Error::malformed(&what, "it is not the JSON of a token"))?;
    let text = answer.token.or(answer.access_token).filter(|token| !token.is_empty());
    let text = text.ok_or_else(|| Error::malformed(&what, "there is no token in it"))?;
    let life = answer.expires_in.map_or(DEFAULT_LIFE, Duration::from_secs).min(LONGEST_LIFE);
    Ok(Token { header: bearer(&text)?, renew_at: Instant::now() + life.saturating_sub(MARGIN) })
}

/// The token service's address. A credential goes there, so it is https, unless the operator
/// configured both the registry and the service as plain http.
fn realm(transport: &Transport, key: &TokenKey) -> Result<Url, Error> {
    let url: Url = key
        .realm
        .parse()
        .map_err(|_| Error::malformed(format!("the challenge of {}", key.host), "bad realm"))?;
    let host = host_of(&url);
    let registries = &transport.config.registries;
    let may_be_plain = registries.is_insecure(&key.host) && registries.is_insecure(&host);
    if url.scheme() == "https" || (url.scheme() == "http" && may_be_plain) {
        Ok(url)
    } else {
        Err(Error::NotEncrypted { host, why: "the registry's token service" })
    }
}

#[derive(Deserialize)]
struct TokenResponse {
    token: Option<String>,
    access_token: Option<String>,
    expires_in: Option<u64>,
}

fn basic(username: &str, password: &str) -> Result<HeaderValue, Error> {
    let pair = BASE64_STANDARD.encode(format!("{username}:{password}"));
    secret_header(&format!("Basic {pair}"))
}

fn bearer(token: &str) -> Result<HeaderValue, Error> {
    secret_header(&format!("Bearer {token}"))
}

fn secret_header(text: &str) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::from_str(text)
        .map_err(|_| Error::malformed("a credential", "it does not fit into a header"))?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Config, mirrors::Registries};

    #[test]
    fn a_token_service_is_encrypted_unless_it_and_the_registry_are_configured_otherwise() {
        let registries = Registries::parse("insecureHosts: ['plain:1', 'tokens:2']").unwrap();
        let config = Config { registries, ..Config::default() };
        let transport = Transport::new(Arc::new(config));
        let accepts = |host: &str, service: &str| {
            let key = TokenKey {
                host: host.to_owned(),
                realm: service.to_owned(),
                service: None,
                scope: String::new(),
                identity: Identity::from_credential(None),
            };
            realm(&transport, &key).is_ok()
        };
        assert!(accepts("quay.io", "https://auth.quay.io/token"));
        assert!(accepts("plain:1", "http://plain:1/token"));
        assert!(accepts("plain:1", "http://tokens:2/token"));
        assert!(!accepts("quay.io", "http://auth.quay.io/token"));
        assert!(!accepts("quay.io", "http://tokens:2/token"));
        assert!(!accepts("plain:1", "http://plain:3/token"));
        assert!(!accepts("plain:1", "file:///etc/passwd"));
        assert!(!accepts("plain:1", "/token"));
    }
}
