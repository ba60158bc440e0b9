//! Writing to a repository: small blobs at once, large ones from another repository, mounted or sent
//! on while they arrive, and manifests.

use bytes::Bytes;
use llsd_image::assembly::Assembled;
use reqwest::{Method, Response, StatusCode, Url, header::LOCATION};

use super::{
    repository::Repository,
    request::{Access, claimed_digest},
};
use crate::{
    Digest, Error,
    transport::{Ask, Payload, expect_digest, host_of},
};

/// The media type of blobs on their way.
const BYTES: &str = "application/octet-stream";

/// How a blob came to be where it is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    AlreadyThere,
    /// Taken over from another repository of the same registry, without a copy.
    Mounted,
    Copied,
}

/// What asking for a mount came to.
enum Mount {
    Done,
    /// No mount, but an upload that was opened in its place.
    Opened(Url),
    Refused,
}

impl Repository<'_> {
    /// Whether the repository holds a blob, as far as the registry says.
    pub async fn has_blob(&self, digest: &Digest) -> Result<bool, Error> {
        let url = self.url(&format!("blobs/{digest}"))?;
        let answer = self.answer(Ask::new(Method::HEAD, url), Access::Push).await?;
        // Whatever else is answered, the upload that follows gets the reason.
        Ok(answer.status() == StatusCode::OK)
    }

    /// Uploads a small blob, unless it is there.
    pub async fn push_blob(&self, content: Bytes) -> Result<(Digest, Placed), Error> {
        let digest = Digest::sha256(&content);
        if self.has_blob(&digest).await? {
            return Ok((digest, Placed::AlreadyThere));
        }
        let url = self.open_upload().await?;
        self.commit(url, &digest, content).await?;
        Ok((digest, Placed::Copied))
    }

    /// Brings a blob of `source` here. In the same registry it is mounted; else it passes through
    /// this process piece by piece, and counts only if it has its digest.
    pub async fn place_blob(
        &self,
        source: Repository<'_>,
        digest: &Digest,
        size: u64,
    ) -> Result<Placed, Error> {
        if self.has_blob(digest).await? {
            return Ok(Placed::AlreadyThere);
        }
        let mut opened = None;
        if source.reference.api_host() == self.reference.api_host() {
            match self.mount(digest, source.reference.repository()).await? {
                Mount::Done => return Ok(Placed::Mounted),
                Mount::Opened(url) => opened = Some(url),
                Mount::Refused => {}
            }
        }
        let url = match opened {
            Some(url) => url,
            None => self.open_upload().await?,
        };
        let blob = source.blob_stream(digest, size).await?;
        let sent = Box::pin(self.send_on(url, blob)).await?;
        let url = match sent.status() {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT | StatusCode::CREATED => next(&sent)?,
            status => return Err(self.not_taken(status)),
        };
        self.commit(url, digest, Bytes::new()).await?;
        Ok(Placed::Copied)
    }

    /// Puts a manifest or index under a tag or its digest.
    pub async fn push_manifest(
        &self,
        name: &str,
        media_type: &str,
        content: Bytes,
    ) -> Result<Digest, Error> {
        let digest = Digest::sha256(&content);
        let url = self.url(&format!("manifests/{name}"))?;
        self.put(sending(Method::PUT, url, media_type, content), &digest).await?;
        Ok(digest)
    }

    /// Writes an image under `name`, a tag or its digest: what it consists of first, so that nobody
    /// ever sees a tag whose image is not whole.
    pub async fn push_image(&self, image: &Assembled, name: &str) -> Result<Digest, Error> {
        for blob in &image.blobs {
            self.push_blob(blob.bytes.clone()).await?;
        }
        for part in &image.manifests {
            let digest = part.digest().to_string();
            self.push_manifest(&digest, part.media_type, part.bytes.clone()).await?;
        }
        self.push_manifest(name, image.top.media_type, image.top.bytes.clone()).await
    }

    async fn mount(&self, digest: &Digest, from: &str) -> Result<Mount, Error> {
        let mut url = self.url("blobs/uploads/")?;
        url.query_pairs_mut().append_pair("mount", &digest.to_string()).append_pair("from", from);
        match self.answer(empty(url), Access::Mount { from }).await {
            Ok(response) if response.status() == StatusCode::CREATED => Ok(Mount::Done),
            Ok(response) if response.status() == StatusCode::ACCEPTED => {
                next(&response).map(Mount::Opened)
            }
            // Who may not read the other repository here may still bring the blob from there.
            Ok(_) | Err(Error::Unauthorised { .. }) => Ok(Mount::Refused),
            Err(error) => Err(error),
        }
    }

    async fn open_upload(&self) -> Result<Url, Error> {
        let url = self.url("blobs/uploads/")?;
        let response = self.answer(empty(url), Access::Push).await?;
        match response.status() {
            StatusCode::ACCEPTED => next(&response),
            status => Err(self.not_taken(status)),
        }
    }

    /// Ends an upload with its last piece, which may be all of it or nothing.
    async fn commit(&self, mut url: Url, digest: &Digest, content: Bytes) -> Result<(), Error> {
        url.query_pairs_mut().append_pair("digest", &digest.to_string());
        // Long, because registries move a large blob to its place before they answer.
        let ask = Ask { long: true, ..sending(Method::PUT, url, BYTES, content) };
        self.put(ask, digest).await
    }

    /// Writes something; what the registry says of it must agree.
    async fn put(&self, ask: Ask, digest: &Digest) -> Result<(), Error> {
        let response = self.answer(ask, Access::Push).await?;
        if !response.status().is_success() {
            return Err(self.not_taken(response.status()));
        }
        let Some(claimed) = claimed_digest(response.headers()) else { return Ok(()) };
        expect_digest(digest, claimed, format!("what was written to {}", self.reference.name()))
    }

    fn not_taken(&self, status: StatusCode) -> Error {
        let at = self.reference.name();
        match status {
            // A registry that only mirrors another one does not know the method.
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::METHOD_NOT_ALLOWED => {
                Error::MayNotPush { at }
            }
            StatusCode::NOT_FOUND => Error::NotFound { at },
            status => self.unexpected(status),
        }
    }
}

fn sending(method: Method, url: Url, media_type: &str, bytes: Bytes) -> Ask {
    let payload = Payload::Content { media_type: media_type.to_owned(), bytes };
    Ask { payload: Some(payload), ..Ask::new(method, url) }
}

/// A request that says that it has no content, which some proxies want to hear.
fn empty(url: Url) -> Ask {
    sending(Method::POST, url, BYTES, Bytes::new())
}

/// Where an upload goes on.
fn next(response: &Response) -> Result<Url, Error> {
    let unclear = || {
        Error::malformed(
            format!("the answer of {}", host_of(response.url())),
            "it does not say where the upload goes on",
        )
    };
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    response.url().join(location.ok_or_else(unclear)?).map_err(|_| unclear())
}
