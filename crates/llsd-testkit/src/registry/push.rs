//! Puts a test's images into the registry over its own API, and takes them out of it.

use anyhow::{Context, ensure};
use reqwest::{RequestBuilder, header::CONTENT_TYPE, header::LOCATION};

use super::{
    image::{INDEX, TestImage, digest, index},
    server::RegistryServer,
};
use crate::loopback_client;

impl RegistryServer {
    /// Pushes an image and gives the digest of its manifest.
    pub async fn push(
        &self,
        repository: &str,
        tag: &str,
        image: &TestImage,
    ) -> anyhow::Result<String> {
        self.push_blobs(repository, image).await?;
        self.push_manifest(repository, tag, image.media_type(), image.manifest()).await
    }

    /// Pushes an index of several images and gives its digest.
    pub async fn push_index(
        &self,
        repository: &str,
        tag: &str,
        images: &[TestImage],
    ) -> anyhow::Result<String> {
        for image in images {
            self.push_blobs(repository, image).await?;
            let manifest = image.manifest();
            let name = digest(&manifest);
            self.push_manifest(repository, &name, image.media_type(), manifest).await?;
        }
        self.push_manifest(repository, tag, INDEX, index(images)).await
    }

    async fn push_blobs(&self, repository: &str, image: &TestImage) -> anyhow::Result<()> {
        self.push_blob(repository, image.config()).await?;
        for layer in &image.layers {
            self.push_blob(repository, layer.bytes.clone()).await?;
        }
        Ok(())
    }

    /// Pushes a blob, for a manifest that a test writes itself.
    pub async fn push_blob(&self, repository: &str, content: Vec<u8>) -> anyhow::Result<()> {
        let client = loopback_client::client(self.authority())?;
        let url = self.url(&format!("/v2/{repository}/blobs/uploads/"));
        let started = self.authorised(client.post(url), repository)?.send().await?;
        ensure!(started.status() == 202, "an upload was not accepted: {}", started.status());
        let location = started.headers().get(LOCATION).context("no place to upload to")?;
        let mut url = started.url().join(location.to_str()?)?;
        url.query_pairs_mut().append_pair("digest", &digest(&content));
        let upload = client.put(url).header(CONTENT_TYPE, "application/octet-stream").body(content);
        let done = self.authorised(upload, repository)?.send().await?;
        ensure!(done.status() == 201, "a blob was not accepted: {}", done.status());
        Ok(())
    }

    /// Pushes a manifest or index under a tag or its digest, and gives the digest.
    pub async fn push_manifest(
        &self,
        repository: &str,
        name: &str,
        media_type: &str,
        content: Vec<u8>,
    ) -> anyhow::Result<String> {
        let digest = digest(&content);
        let url = self.url(&format!("/v2/{repository}/manifests/{name}"));
        let put = loopback_client::client(self.authority())?
            .put(url)
            .header(CONTENT_TYPE, media_type)
            .body(content);
        let done = self.authorised(put, repository)?.send().await?;
        ensure!(done.status() == 201, "a manifest was not accepted: {}", done.status());
        Ok(digest)
    }

    /// Deletes a manifest by its digest, and with it the tags that point there.
    pub async fn delete_manifest(&self, repository: &str, digest: &str) -> anyhow::Result<()> {
        let url = self.url(&format!("/v2/{repository}/manifests/{digest}"));
        let delete = loopback_client::client(self.authority())?.delete(url);
        let done = self.authorised(delete, repository)?.send().await?;
        ensure!(done.status() == 202, "a manifest was not deleted: {}", done.status());
        Ok(())
    }

    fn url(&self, path: &str) -> String {
        let scheme = if self.authority().is_some() { "https" } else { "http" };
        format!("{scheme}://{}{path}", self.host())
    }

    fn authorised(&self, ask: RequestBuilder, repository: &str) -> anyhow::Result<RequestBuilder> {
        Ok(match (&self.tokens, self.users.first()) {
            (Some(service), _) => ask.bearer_auth(service.for_pushing(repository)?),
            (None, Some(user)) => ask.basic_auth(&user.name, Some(&user.password)),
            (None, None) => ask,
        })
    }
}
