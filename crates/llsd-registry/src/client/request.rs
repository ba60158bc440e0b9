//! One request to a repository, authorised as its registry asks for it.

use reqwest::{
    Method, Response, StatusCode, Url,
    header::{HeaderMap, HeaderValue},
};

use super::repository::{Client, Repository};
use crate::{
    Digest, Error,
    challenge::{self, Challenge},
    token::Asker,
    transport::{Ask, BlobStream},
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

impl Repository<'_> {
    /// The address of something in this repository.
    pub(super) fn url(&self, path: &str) -> Result<Url, Error> {
        let path = format!("/v2/{}/{path}", self.reference.repository());
        self.client.transport.url(self.reference.api_host(), &path)
    }

    /// The answer to a request that reads, if the thing is there and may be read.
    pub(super) async fn found(&self, ask: Ask) -> Result<Response, Error> {
        let response = self.answer(ask, Access::Pull).await?;
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
    pub(super) async fn answer(&self, mut ask: Ask, access: Access<'_>) -> Result<Response, Error> {
        let Client { transport, hosts, .. } = self.client;
        let host = self.reference.api_host();
        let _turn = hosts.turn(host).await;
        let known = hosts.challenge(transport, host).await?;
        let is_own = self.is_own(&ask.url)?;
        if is_own {
            ask.authorization = self.authorization(access, known.as_ref(), false).await?;
        }
        let response = hosts.watched(host, transport.send(ask.clone())).await?;
        if response.status() != StatusCode::UNAUTHORIZED || !is_own {
            return Ok(response);
        }
        // The repository may ask for more than the ping did, or the token was revoked.
        let newer = challenge::strongest(response.headers()).or(known);
        let again = self.authorization(access, newer.as_ref(), true).await?;
        if again.is_none() || again == ask.authorization {
            return Ok(response);
        }
        ask.authorization = again;
        hosts.watched(host, transport.send(ask)).await
    }

    /// Sends a blob on to an address that an upload of this repository was given.
    pub(super) async fn send_on(&self, url: Url, blob: BlobStream) -> Result<Response, Error> {
        let Client { transport, hosts, .. } = self.client;
        let known = hosts.challenge(transport, self.reference.api_host()).await?;
        let mut ask = Ask { long: true, ..Ask::new(Method::PATCH, url) };
        if self.is_own(&ask.url)? {
            // The upload was opened a moment ago with the same token.
            ask.authorization = self.authorization(Access::Push, known.as_ref(), false).await?;
        }
        transport.upload(&ask, blob).await
    }

    /// An upload may go on at an address of another host, which proves nothing by a token.
    fn is_own(&self, url: &Url) -> Result<bool, Error> {
        Ok(url.origin() == self.url("")?.origin())
    }

    /// The header to send. A token service's refusal is told in the name of the image.
    async fn authorization(
        &self,
        access: Access<'_>,
        challenge: Option<&Challenge>,
        renew: bool,
    ) -> Result<Option<HeaderValue>, Error> {
        let Client { transport, tokens, .. } = self.client;
        let asker = Asker {
            host: self.reference.api_host(),
            repository: self.reference.repository(),
            credential: self.credential,
            scope: &access.scope(self.reference.repository()),
        };
        let header = tokens.authorization(transport, asker, challenge, renew).await;
        header.map_err(|error| match error {
            Error::Unauthorised { .. } => Error::Unauthorised { at: self.reference.to_string() },
            error => error,
        })
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
