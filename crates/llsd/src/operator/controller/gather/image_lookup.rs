//! What the registry says of a resource's image. While nothing about the resource changes, the image
//! that runs is the one that is looked at, whatever its tag points to by now.

use llsd_plan::facts::{BaseFacts, BaseSource, ExternalProviderFacts, ImageFacts};
use llsd_plan::image::RequestedImage;
use llsd_plan::rollout::PinnedImage;
use llsd_registry::credentials::Keyring;
use llsd_registry::{Credential, Credentials, Error, Image, Reference, Registry, Source};

use super::super::pull_credentials::PullCredentials;
use crate::operator::telemetry::{Lookup, Metrics};

/// Whom to ask, and as whom.
#[derive(Clone, Copy, Debug)]
pub struct ImageLookup<'a> {
    pub registry: &'a Registry,
    pub credentials: &'a PullCredentials,
    pub keyring: &'a Keyring,
    pub metrics: &'a Metrics,
}

/// What a registry says of an image.
#[derive(Clone, Debug, Default)]
pub struct InspectedImage {
    pub facts: ImageFacts,
    /// The digest that the tag points to now, where another one runs.
    pub newer_digest: Option<String>,
}

impl Credentials for ImageLookup<'_> {
    async fn for_repository(&self, repository: &str) -> Vec<Credential> {
        self.credentials.for_repository(self.keyring, repository).await
    }
}

impl ImageLookup<'_> {
    async fn find(&self, reference: &Reference) -> Result<std::sync::Arc<Image>, Error> {
        let before = self.registry.requests_sent();
        let found = self.registry.find(reference, self).await;
        self.metrics.registry_lookup(match &found {
            // Of several lookups at once none can tell whose request it was.
            Ok(_) if self.registry.requests_sent() == before => Lookup::Cached,
            Ok(_) => Lookup::Fetched,
            Err(error) if error.is_transient() => Lookup::Unavailable,
            Err(_) => Lookup::Refused,
        });
        found
    }

    /// The facts about the image of a resource. `running` is what its Deployment runs of it, and
    /// `keeps` says that this stays because nothing about the resource changed.
    pub async fn image(
        &self,
        wanted: &RequestedImage,
        running: Option<&PinnedImage>,
        keeps: bool,
    ) -> InspectedImage {
        let reference: Reference = match wanted.image.parse() {
            Ok(reference) => reference,
            Err(error) => return unavailable(&error, running),
        };
        let kept = running.filter(|_| keeps);
        let pinned = match kept {
            Some(PinnedImage::Digest(digest)) => digest.parse().ok().map(|d| reference.pinned(d)),
            _ => None,
        };
        let found = match self.find(pinned.as_ref().unwrap_or(&reference)).await {
            Ok(found) => found,
            Err(error) => return unavailable(&error, running),
        };
        let mut image = inspected(&found);
        match kept {
            Some(PinnedImage::Unpinned) if reference.digest().is_none() => {
                image.facts.digest = None;
            }
            Some(PinnedImage::Digest(digest)) if reference.digest().is_none() => {
                // Only a remark, so a registry that fails here fails nothing.
                if let Ok(now) = self.find(&reference).await {
                    let now = now.digest.to_string();
                    image.newer_digest = (now != *digest).then_some(now);
                }
            }
            _ => {}
        }
        image
    }

    /// What the image of an external provider says of itself; nothing where it cannot be asked.
    pub async fn external_provider(&self, image: &str) -> Option<ExternalProviderFacts> {
        let reference: Reference = image.parse().ok()?;
        let found = match self.find(&reference).await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(image, %error, "an external provider's image cannot be read");
                return None;
            }
        };
        let label = |name: &str| found.labels.get(name).cloned().unwrap_or_default();
        Some(ExternalProviderFacts {
            api: label(ExternalProviderFacts::API_LABEL),
            provider_type: label(ExternalProviderFacts::TYPE_LABEL),
            module: label(ExternalProviderFacts::MODULE_LABEL),
        })
    }
}

/// What runs pinned stays pinned: a registry that is away is no reason to restart a server.
fn unavailable(error: &Error, running: Option<&PinnedImage>) -> InspectedImage {
    let digest = match running {
        Some(PinnedImage::Digest(digest)) => Some(digest.clone()),
        _ => None,
    };
    let unavailable = Some(error.to_string());
    let facts = ImageFacts { digest, unavailable, ..ImageFacts::default() };
    InspectedImage { facts, ..InspectedImage::default() }
}

fn inspected(image: &Image) -> InspectedImage {
    let mut facts = ImageFacts {
        digest: Some(image.digest.to_string()),
        release: image.release(),
        variables: Some(image.variables.clone()),
        inspected: true,
        differing_platforms: image.differing_platforms.clone(),
        ..ImageFacts::default()
    };
    match &image.base {
        Ok(base) => {
            facts.base = base.as_ref().map(|base| BaseFacts {
                text: base.text.clone(),
                source: match base.source {
                    Source::Labels => BaseSource::Labels,
                    Source::Layer => BaseSource::Layer,
                },
                found_in: Some(base.label.clone()),
            });
        }
        Err(error) => facts.unavailable = Some(error.to_string()),
    }
    InspectedImage { facts, newer_digest: None }
}
