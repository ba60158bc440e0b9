//! The distribution API as far as reading needs it: ping, manifests, blobs. Whatever it returns
//! has the digest that was asked for.

mod hosts;
mod manifest;

use std::sync::Arc;

use bytes::Bytes;
use reqwest::{Method, Response, StatusCode, header::HeaderMap};

pub(crate) use manifest::digest_of;
pub use manifest::{Manifest, PlatformManifest, platforms};

use crate::{
    Config, Credential, Digest, Error, Reference, challenge,
    digest::Verifier,
    token::{Asker, Tokens},
    transport::{Ask, Transport, body, explain, host_of},
};
use hosts::Hosts;

const MANIFEST_TYPES: &str = "application/vnd.oci.image.index.v1+json, \
     application/vnd.oci.image.manifest.v1+json, \
     application/vnd.docker.distribution.manifest.list.v2+json, \
     application/vnd.docker.distribution.manifest.v2+json";

/// Speaks to any number of registries; tokens and connections are kept between requests.
#[derive(Debug)]
pub struct Client {
    transport: Transport,
    tokens: Tokens,
    hosts: Hosts,
}

impl Client {
    pub fn new(config: Config) -> Self {
        let config = Arc::new(config);
        let hosts = Hosts::new(&config.limits);
        Self { transport: Transport::new(config), tokens: Tokens::new(), hosts }
    }

    /// Requests that left this process so far.
    pub fn requests_sent(&self) -> u64 {
        self.transport.sent()
    }

    /// The repository of `reference` as `credential` sees it; `None` is anonymous.
    pub fn repository<'a>(
        &'a self,
        reference: &'a Reference,
        credential: Option<&'a Credential>,
    ) -> Repository<'a> {
        Repository { client: self, reference, credential }
    }

    pub(crate) fn config(&self) -> &Config {
        &self.transport.config
    }
}

/// One repository, seen with one credential.
#[derive(Clone, Copy, Debug)]
pub struct Repository<'a> {
    client: &'a Client,
    reference: &'a Reference,
    credential: Option<&'a Credential>,
}

impl Repository<'_> {
    /// Asks for a manifest's digest without its content. `None` where the registry does not say.
    pub async fn head(&self) -> Result<Option<Digest>, Error> {
        let name = self.reference.manifest_name();
        let response = self.manifest_request(Method::HEAD, &name).await?;
        let claimed = claimed_digest(response.headers());
        match (self.reference.digest(), claimed) {
            (Some(asked), Some(claimed)) if *asked != claimed => Err(Error::WrongDigest {
                what: self.reference.to_string(),
                expected: asked.clone(),
                actual: claimed,
            }),
            // Found under its digest, so that is its digest.
            (Some(asked), _) => Ok(Some(asked.clone())),
            (None, claimed) => Ok(claimed),
        }
    }

    /// The manifest or index that the reference names.
    pub async fn manifest(&self) -> Result<(Digest, Bytes), Error> {
        let (name, what) = (self.reference.manifest_name(), self.reference.to_string());
        let response = self.manifest_request(Method::GET, &name).await?;
        let claimed = claimed_digest(response.headers());
        let content = body(response, self.limits().manifest, &what).await?;
        // A tag's content is whatever the registry says it is, but what it says must agree.
        match self.reference.digest().or(claimed.as_ref()) {
            Some(expected) => {
                verified(&content, expected, what)?;
                Ok((expected.clone(), content))
            }
            None => Ok((Digest::of(&content), content)),
        }
    }

    /// The manifest of this digest.
    pub async fn manifest_at(&self, digest: &Digest) -> Result<Bytes, Error> {
        let what = format!("{}@{digest}", self.reference.name());
        let response = self.manifest_request(Method::GET, &digest.to_string()).await?;
        let content = body(response, self.limits().manifest, &what).await?;
        verified(&content, digest, what)?;
        Ok(content)
    }

    /// A small blob, such as an image's configuration, of at most `limit` bytes.
    pub async fn blob(&self, digest: &Digest, limit: u64) -> Result<Bytes, Error> {
        let what = format!("blob {digest} of {}", self.reference.name());
        let response = self.blob_request(digest, false).await?;
        let content = body(response, limit, &what).await?;
        verified(&content, digest, what)?;
        Ok(content)
    }

    /// A blob piece by piece. [`BlobStream::next`] fails at the end when the digest is not right,
    /// so nothing of it may be used before the stream has ended.
    pub async fn blob_stream(&self, digest: &Digest, size: u64) -> Result<BlobStream, Error> {
        let what = format!("layer {digest} of {}", self.reference.name());
        let limit = self.limits().layer;
        if size > limit {
            return Err(Error::TooLarge { what, limit });
        }
        let response = self.blob_request(digest, true).await?;
        let verifier = Some(Verifier::of(digest));
        Ok(BlobStream { response, what, expected: digest.clone(), left: size, size, verifier })
    }

    pub(crate) fn limits(&self) -> &crate::Limits {
        &self.client.config().limits
    }

    async fn manifest_request(&self, method: Method, name: &str) -> Result<Response, Error> {
        let path = format!("/v2/{}/manifests/{name}", self.reference.repository());
        self.request(method, &path, Some(MANIFEST_TYPES), false).await
    }

    async fn blob_request(&self, digest: &Digest, long: bool) -> Result<Response, Error> {
        let path = format!("/v2/{}/blobs/{digest}", self.reference.repository());
        self.request(Method::GET, &path, None, long).await
    }

    async fn request(
        &self,
        method: Method,
        path: &str,
        accept: Option<&'static str>,
        long: bool,
    ) -> Result<Response, Error> {
        let Client { transport, tokens, hosts } = self.client;
        let host = self.reference.api_host();
        let _turn = hosts.turn(host).await;
        let known = hosts.challenge(transport, host).await?;
        let at = || self.reference.to_string();
        let refused = |error| match error {
            Error::Unauthorised { .. } => Error::Unauthorised { at: at() },
            error => error,
        };
        let asker = Asker {
            host,
            repository: self.reference.repository(),
            credential: self.credential,
            actions: "pull",
        };
        let url = transport.url(host, path)?;
        let mut ask = Ask { method, accept, long, ..Ask::get(url) };
        ask.authorization =
            tokens.authorization(transport, asker, known.as_ref(), false).await.map_err(refused)?;
        let mut response = hosts.watched(host, transport.send(ask.clone())).await?;
        if response.status() == StatusCode::UNAUTHORIZED {
            // The repository may ask for more than the ping did, or the token was revoked.
            let newer = challenge::strongest(response.headers()).or(known);
            let again = tokens
                .authorization(transport, asker, newer.as_ref(), true)
                .await
                .map_err(refused)?;
            if again.is_some() && again != ask.authorization {
                ask.authorization = again;
                response = hosts.watched(host, transport.send(ask)).await?;
            }
        }
        match response.status() {
            StatusCode::OK => Ok(response),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                Err(Error::Unauthorised { at: at() })
            }
            StatusCode::NOT_FOUND => Err(Error::NotFound { at: at() }),
            status => Err(Error::Unexpected { host: host.to_owned(), status: status.as_u16() }),
        }
    }
}

/// A blob on its way.
pub struct BlobStream {
    response: Response,
    what: String,
    expected: Digest,
    size: u64,
    left: u64,
    verifier: Option<Verifier>,
}

impl std::fmt::Debug for BlobStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BlobStream({})", self.what)
    }
}

impl BlobStream {
    /// The next piece; `None` once all of it came and has the right digest.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        let host = host_of(self.response.url());
        let piece = self.response.chunk().await;
        match piece.map_err(|error| explain(&error, &host, "the layer stopped"))? {
            Some(piece) => {
                let length = piece.len() as u64;
                let too_large = || Error::TooLarge { what: self.what.clone(), limit: self.size };
                self.left = self.left.checked_sub(length).ok_or_else(too_large)?;
                if let Some(verifier) = &mut self.verifier {
                    verifier.update(&piece);
                }
                Ok(Some(piece))
            }
            None => match self.verifier.take().map(Verifier::finish) {
                Some(actual) if actual != self.expected => Err(Error::WrongDigest {
                    what: self.what.clone(),
                    expected: self.expected.clone(),
                    actual,
                }),
                _ => Ok(None),
            },
        }
    }
}

fn claimed_digest(headers: &HeaderMap) -> Option<Digest> {
    headers.get("docker-content-digest")?.to_str().ok()?.parse().ok()
}

fn verified(content: &[u8], expected: &Digest, what: String) -> Result<(), Error> {
    let mut verifier = Verifier::of(expected);
    verifier.update(content);
    let actual = verifier.finish();
    if actual == *expected {
        Ok(())
    } else {
        Err(Error::WrongDigest { what, expected: expected.clone(), actual })
    }
}
