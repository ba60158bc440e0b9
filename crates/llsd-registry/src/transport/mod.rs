//! Requests under the client's rules: no plain http unless configured, no forbidden addresses, few
//! redirects, credentials for the first host only, patience with a busy registry, bounded bodies.

mod blob;
mod clients;
mod fault;
mod upload;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use reqwest::{
    Method, RequestBuilder, Response, StatusCode, Url,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION, RETRY_AFTER},
};

use crate::{Config, Error, address};

pub use blob::BlobStream;
pub(crate) use blob::expect_digest;
pub(crate) use fault::{explain, host_of};

/// One request before redirects and retries. Not printable: it may carry a secret.
#[derive(Clone)]
pub(crate) struct Ask {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) accept: Option<&'static str>,
    pub(crate) authorization: Option<HeaderValue>,
    pub(crate) payload: Option<Payload>,
    /// Layers take longer than other requests; only the lookup as a whole bounds them.
    pub(crate) long: bool,
}

/// What a request brings along.
#[derive(Clone)]
pub(crate) enum Payload {
    Form(Vec<(&'static str, String)>),
    Content { media_type: String, bytes: Bytes },
}

impl Ask {
    pub(crate) fn new(method: Method, url: Url) -> Self {
        Self { method, url, accept: None, authorization: None, payload: None, long: false }
    }
}

#[derive(Debug)]
pub(crate) struct Transport {
    pub(crate) config: Arc<Config>,
    clients: clients::Clients,
    sent: AtomicU64,
}

impl Transport {
    pub(crate) fn new(config: Arc<Config>) -> Self {
        Self { clients: clients::Clients::new(config.clone()), config, sent: AtomicU64::new(0) }
    }

    /// Requests that left this process, retries and redirects included.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// The address of a path in the registry `host`, https unless configured otherwise.
    pub(crate) fn url(&self, host: &str, path: &str) -> Result<Url, Error> {
        let scheme = if self.config.registries.is_insecure(host) { "http" } else { "https" };
        format!("{scheme}://{host}{path}")
            .parse()
            .map_err(|_| Error::InvalidReference("host and repository make no address"))
    }

    /// The first answer that is neither a redirect nor a passing fault; its status is the caller's.
    pub(crate) async fn send(&self, ask: Ask) -> Result<Response, Error> {
        let limits = &self.config.limits;
        let mut pause = Duration::from_millis(200);
        let mut attempt = 1;
        loop {
            // Boxed, as all futures between a lookup and the HTTP client are: unboxed they add up to
            // more than a thread's stack in an unoptimised build.
            let response = Box::pin(self.follow(ask.clone())).await?;
            let status = response.status();
            if status != StatusCode::TOO_MANY_REQUESTS && !status.is_server_error() {
                return Ok(response);
            }
            let retry_after = retry_after(&response);
            let wait = retry_after.unwrap_or(pause);
            if attempt >= limits.attempts || wait > limits.longest_wait {
                let host = host_of(response.url());
                return Err(Error::Busy { host, status: status.as_u16(), retry_after });
            }
            drop(response);
            tokio::time::sleep(wait).await;
            pause *= 2;
            attempt += 1;
        }
    }

    async fn follow(&self, mut ask: Ask) -> Result<Response, Error> {
        let limit = self.config.limits.redirects;
        let first = ask.url.clone();
        for _ in 0..=limit {
            let response = self.send_once(&ask).await?;
            let Some(target) = redirect_target(&response)? else { return Ok(response) };
            // What writes, or carries a secret, goes where it was sent or nowhere.
            if !matches!(ask.method, Method::GET | Method::HEAD) {
                let (host, status) = (host_of(&ask.url), response.status().as_u16());
                return Err(Error::Unexpected { host, status });
            }
            if leaves_encryption(&ask.url, &target) {
                let host = host_of(&target);
                return Err(Error::NotEncrypted { host, why: "a redirect from https" });
            }
            // Once it has left its host, an authorisation does not come back either: the
            // hop in between chose the address.
            if target.origin() != first.origin() {
                ask.authorization = None;
            }
            ask.url = target;
        }
        Err(Error::TooManyRedirects { host: host_of(&first), limit })
    }

    async fn send_once(&self, ask: &Ask) -> Result<Response, Error> {
        let host = host_of(&ask.url);
        let mut request = self.prepared(ask)?;
        if self.clients.is_proxied(&ask.url) && !self.config.registries.may_be_private(&host) {
            address::check_name(&ask.url, self.config.limits.connect).await?;
        }
        match &ask.payload {
            None => {}
            Some(Payload::Form(form)) => request = request.form(form),
            Some(Payload::Content { media_type, bytes }) => {
                request = request.header(CONTENT_TYPE, media_type).body(bytes.clone());
            }
        }
        self.sent.fetch_add(1, Ordering::Relaxed);
        request.send().await.map_err(|error| explain(&error, &host, "no answer"))
    }

    /// The request without its payload, if its address is one that may be asked.
    fn prepared(&self, ask: &Ask) -> Result<RequestBuilder, Error> {
        let limits = &self.config.limits;
        let host = host_of(&ask.url);
        match ask.url.scheme() {
            "https" => {}
            "http" if self.config.registries.is_insecure(&host) => {}
            _ => return Err(Error::NotEncrypted { host, why: "not configured as plain http" }),
        }
        if !self.config.registries.may_be_private(&host) {
            address::check_literal(&ask.url)?;
        }
        let uploading = matches!(ask.method, Method::PUT | Method::PATCH);
        let mut request =
            self.clients.for_url(&ask.url, uploading)?.request(ask.method.clone(), ask.url.clone());
        if let Some(accept) = ask.accept {
            request = request.header(ACCEPT, accept);
        }
        if let Some(authorization) = &ask.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        Ok(request.timeout(if ask.long { limits.lookup } else { limits.request }))
    }
}

/// The whole body, if it stays within `limit`.
pub(crate) async fn body(response: Response, limit: u64, what: &str) -> Result<Bytes, Error> {
    let too_large = || Error::TooLarge { what: what.to_owned(), limit };
    if response.content_length().is_some_and(|length| length > limit) {
        return Err(too_large());
    }
    let host = host_of(response.url());
    let mut response = response;
    let mut content = Vec::new();
    while let Some(piece) =
        response.chunk().await.map_err(|error| explain(&error, &host, "the answer stopped"))?
    {
        if (content.len() + piece.len()) as u64 > limit {
            return Err(too_large());
        }
        content.extend_from_slice(&piece);
    }
    Ok(content.into())
}

fn redirect_target(response: &Response) -> Result<Option<Url>, Error> {
    // 304 and 300 are no redirects that a registry sends.
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let unclear =
        || Error::Unexpected { host: host_of(response.url()), status: response.status().as_u16() };
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let target = response.url().join(location.ok_or_else(unclear)?).map_err(|_| unclear())?;
    Ok(Some(target))
}

/// Even to a host that is configured as plain http: the first one was not.
fn leaves_encryption(from: &Url, to: &Url) -> bool {
    from.scheme() == "https" && to.scheme() != "https"
}

/// Seconds or a date; what lies in the past means now.
fn retry_after(response: &Response) -> Option<Duration> {
    let text = response.headers().get(RETRY_AFTER)?.to_str().ok()?;
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let at: SystemTime = jiff::fmt::rfc2822::parse(text).ok()?.timestamp().into();
    Some(at.duration_since(SystemTime::now()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_never_leaves_encryption() {
        let leaves =
            |from: &str, to: &str| leaves_encryption(&from.parse().unwrap(), &to.parse().unwrap());
        assert!(leaves("https://a/", "http://a/"));
        assert!(leaves("https://a/", "ftp://a/"));
        assert!(!leaves("https://a/", "https://b/"));
        assert!(!leaves("http://a/", "https://b/"));
    }
}
