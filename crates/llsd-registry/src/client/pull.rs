//! Reading from a repository: manifests and blobs, with the digest that was asked for.

use bytes::Bytes;
use llsd_image::Verifier;
use reqwest::{Method, Response};

use super::{repository::Repository, request::claimed_digest};
use crate::{
    Digest, Error,
    transport::{Ask, BlobStream, body, expect_digest},
};

const MANIFEST_TYPES: &str = "application/vnd.oci.image.index.v1+json, \
     application/vnd.oci.image.manifest.v1+json, \
     application/vnd.docker.distribution.manifest.list.v2+json, \
     application/vnd.docker.distribution.manifest.v2+json";

impl Repository<'_> {
    /// Asks for a manifest's digest without its content. `None` where the registry does not say.
    pub async fn head(&self) -> Result<Option<Digest>, Error> {
        let name = self.reference.manifest_name();
        let response = self.manifest_request(Method::HEAD, &name).await?;
        let claimed = claimed_digest(response.headers());
        let Some(asked) = self.reference.digest() else { return Ok(claimed) };
        if let Some(claimed) = claimed {
            expect_digest(asked, claimed, self.reference.to_string())?;
        }
        // Found under its digest, so that is its digest.
        Ok(Some(asked.clone()))
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
            None => Ok((Digest::sha256(&content), content)),
        }
    }

    /// The manifest of this digest.
    pub async fn manifest_at(&self, digest: &Digest) -> Result<Bytes, Error> {
        let what = self.reference.name_at(digest);
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
        Ok(BlobStream::new(response, what, digest, size))
    }

    async fn manifest_request(&self, method: Method, name: &str) -> Result<Response, Error> {
        let url = self.url(&format!("manifests/{name}"))?;
        self.found(Ask { accept: Some(MANIFEST_TYPES), ..Ask::new(method, url) }).await
    }

    async fn blob_request(&self, digest: &Digest, long: bool) -> Result<Response, Error> {
        let url = self.url(&format!("blobs/{digest}"))?;
        self.found(Ask { long, ..Ask::new(Method::GET, url) }).await
    }
}

fn verified(content: &[u8], expected: &Digest, what: String) -> Result<(), Error> {
    let mut verifier = Verifier::for_digest(expected);
    verifier.update(content);
    expect_digest(expected, verifier.finish(), what)
}
