//! Asks registries about images with the credentials of one resource's pods, and counts.

use std::sync::Arc;
use std::time::Duration;

use llsd_registry::credentials::OfferedSecrets;
use llsd_registry::{Credential, Credentials, Error, Image, Reference, Wanted};

use super::pull_credentials::PullCredentials;
use crate::operator::controller::state::Configuration;
use crate::operator::telemetry::{Lookup, Metrics};

/// What a registry answers.
pub type ImageFound = Result<Arc<Image>, Error>;

/// Whom to ask, and as whom.
#[derive(Clone)]
pub struct Asker {
    pub configuration: Arc<Configuration>,
    pub credentials: Arc<PullCredentials>,
    pub secrets: Arc<OfferedSecrets>,
    /// What is looked for in images.
    pub wanted: Wanted,
    pub metrics: Metrics,
}

impl Credentials for Asker {
    async fn for_repository(&self, repository: &str) -> Vec<Credential> {
        self.credentials.for_repository(&self.secrets, repository).await
    }
}

impl Asker {
    /// What it was told before.
    pub async fn recall(&self, image: &Reference, age: Duration) -> Option<ImageFound> {
        let registry = &self.configuration.registry;
        let recalled = registry.recall_with(image, self.wanted, self, age).await?;
        if recalled.as_ref().is_ok_and(|found| !self.may_run(image, found)) {
            return None;
        }
        self.count(image, recalled.as_ref().map_or_else(failed, |_| Lookup::Cached));
        Some(recalled.map_err(Error::without_telling_ports))
    }

    /// What the registry says now.
    pub async fn find(&self, image: &Reference) -> ImageFound {
        let found = self.find_verified(image).await;
        self.count(image, found.as_ref().map_or_else(failed, |_| Lookup::Fetched));
        found.map_err(|error| {
            // The whole reason is for who reads the operator's log, not for who reads a status.
            tracing::info!(%image, %error, "an image could not be looked up");
            error.without_telling_ports()
        })
    }

    /// The image, if it has the signature that it needs.
    async fn find_verified(&self, image: &Reference) -> ImageFound {
        let Configuration { registry, .. } = &*self.configuration;
        let found = registry.find_with(image, self.wanted, self).await?;
        if !self.may_run(image, &found) {
            let keys = self.configuration.signers(image).unwrap_or_default();
            registry.signed_by(image, &found.digest, &keys, self).await?;
            self.configuration.set_verified(image, &found.digest);
        }
        Ok(found)
    }

    /// Whether the image needs no signature, or was found to have it.
    pub fn may_run(&self, image: &Reference, found: &Image) -> bool {
        self.configuration.signers(image).is_none()
            || self.configuration.is_verified(image, &found.digest)
    }

    fn count(&self, image: &Reference, result: Lookup) {
        self.metrics.registry_lookup(result, image.host());
    }
}

fn failed(error: &Error) -> Lookup {
    if error.is_transient() { Lookup::Unavailable } else { Lookup::Refused }
}
