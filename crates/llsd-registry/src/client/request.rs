//! One request to a repository, authorised as its registry asks for it.

use reqwest::{Method, Response, StatusCode, Url, header::HeaderMap};

use super::repository::{Client, Repository};
use crate::{
    Digest, Error, challenge,
    token::Asker,
    transport::{Ask, BlobStream, Payload},
};

/// What the request does to the repository; tokens are asked for with it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Access<'a> {
    Pull,
    Push,
    /// Also reads another repository of the same registry.
    Mount {
        from: &'a str,
    },
}

impl Access<'_> {
    fn scope(self, repository: &str) -> String {
        match self {
            Self::Pull => format!("repository:{repository}:pull"),
            Self::Push => format!("repository:{repository}:pull,push"),
            Self::Mount { from } => {
                format!("repository:{repository}:pull,push repository:{from}:pull")
            }
        }
    }
}

/// A request before its authorisation.
pub(super) struct Want<'a> {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) access: Access<'a>,
    pub(super) accept: Option<&'static str>,
    pub(super) payload: Option<Payload>,
    pub(super) long: bool,
}

impl Want<'_> {
    pub(super) fn new(method: Method, url: Url) -> Self {
        Self { method, url, access: Access::Pull, accept: None, payload: None, long: false }
    }
}

impl Repository<'_> {
    /// The address of something in this repository.
    pub(super) fn url(&self, path: &str) -> Result<Url, Error> {
        let path = format!("/v2/{}/{path}", self.reference.repository());
        self.client.transport.url(self.reference.api_host(), &path)
    }

    /// The answer to a request that reads, if the thing is there and may be read.
    pub(super) async fn found(&self, want: Want<'_>) -> Result<Response, Error> {
        let response = self.answer(want).await?;
        let at = || self.reference.to_string();
        match response.status() {
            StatusCode::OK => Ok(response),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                Err(Error::Unauthorised { at: at() })
            }
            StatusCode::NOT_FOUND => Err(Error::NotFound { at: at() }),
            status => Err(self.unexpected(status)),
        }
    }

    pub(super) fn unexpected(&self, status: StatusCode) -> Error {
        Error::Unexpected { host: self.reference.api_host().to_owned(), status: status.as_u16() }
    }

    /// Whatever the registry answers, after the authorisation that it asked for.
    pub(super) async fn answer(&self, want: Want<'_>) -> Result<Response, Error> {
        let Client { transport, tokens, hosts } = self.client;
        let host = self.reference.api_host();
        let _turn = hosts.turn(host).await;
        let known = hosts.challenge(transport, host).await?;
        let scope = want.access.scope(self.reference.repository());
        let asker = self.asker(&scope);
        let Want { method, url, accept, payload, long, .. } = want;
        // An upload may go on at an address of another host, which proves nothing by a token.
        let is_own = url.origin() == self.url("")?.origin();
        let mut ask = Ask { method, accept, payload, long, ..Ask::get(url) };
        if is_own {
            let header = tokens.authorization(transport, asker, known.as_ref(), false).await;
            ask.authorization = header.map_err(|error| self.refused(error))?;
        }
        let response = hosts.watched(host, transport.send(ask.clone())).await?;
        if response.status() != StatusCode::UNAUTHORIZED || !is_own {
            return Ok(response);
        }
        // The repository may ask for more than the ping did, or the token was revoked.
        let newer = challenge::strongest(response.headers()).or(known);
        let again = tokens.authorization(transport, asker, newer.as_ref(), true).await;
        let again = again.map_err(|error| self.refused(error))?;
        if again.is_none() || again == ask.authorization {
            return Ok(response);
        }
        ask.authorization = again;
        hosts.watched(host, transport.send(ask)).await
    }

    /// Sends a blob on to an address that an upload of this repository was given.
    pub(super) async fn send_on(&self, url: Url, blob: BlobStream) -> Result<Response, Error> {
        let Client { transport, tokens, hosts } = self.client;
        let host = self.reference.api_host();
        let known = hosts.challenge(transport, host).await?;
        let scope = Access::Push.scope(self.reference.repository());
        let is_own = url.origin() == self.url("")?.origin();
        let mut ask = Ask { method: Method::PATCH, long: true, ..Ask::get(url) };
        if is_own {
            // The upload was opened a moment ago with the same token.
            let asker = self.asker(&scope);
            let header = tokens.authorization(transport, asker, known.as_ref(), false).await;
            ask.authorization = header.map_err(|error| self.refused(error))?;
        }
        transport.upload(&ask, blob).await
    }

    fn asker<'a>(&'a self, scope: &'a str) -> Asker<'a> {
        Asker {
            host: self.reference.api_host(),
            repository: self.reference.repository(),
            credential: self.credential,
            scope,
        }
    }

    /// A token service's refusal, in the name of the image.
    fn refused(&self, error: Error) -> Error {
        match error {
            Error::Unauthorised { .. } => Error::Unauthorised { at: self.reference.to_string() },
            error => error,
        }
    }
}

/// The digest that an answer names.
pub(super) fn claimed_digest(headers: &HeaderMap) -> Option<Digest> {
    headers.get("docker-content-digest")?.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_asked_for_no_more_than_the_request_needs() {
        assert_eq!(Access::Pull.scope("a/b"), "repository:a/b:pull");
        assert_eq!(Access::Push.scope("a/b"), "repository:a/b:pull,push");
        assert_eq!(
            Access::Mount { from: "c" }.scope("a/b"),
            "repository:a/b:pull,push repository:c:pull"
        );
    }
}
