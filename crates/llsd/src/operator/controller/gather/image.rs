//! What the registry says of a resource's image. While nothing about the resource changes, the image
//! that runs is the one that is looked at, whatever its tag points to by now.

use llsd_plan::facts::{BaseFacts, BaseSource, ExternalProviderFacts, ImageFacts};
use llsd_plan::image::RequestedImage;
use llsd_registry::credentials::Keyring;
use llsd_registry::{Credential, Credentials, Error, Image, Reference, Registry, Source};

use super::pull_credentials::PullCredentials;
use crate::operator::telemetry::{Lookup, Metrics};

/// Whom to ask, and as whom.
#[derive(Clone, Copy, Debug)]
pub struct Asking<'a> {
    pub registry: &'a Registry,
    pub credentials: &'a PullCredentials,
    pub keyring: &'a Keyring,
    pub metrics: &'a Metrics,
}

/// The image that a Deployment runs for the same state of its resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Running {
    /// Pinned to this digest.
    Pinned(String),
    /// Without a digest, as a registry that could not be asked had left it.
    Unpinned,
}

impl Running {
    /// What runs, if it is the image that the resource still asks for.
    pub fn of(live: Option<&str>, wanted: &RequestedImage) -> Option<Self> {
        let live = live?;
        if live == wanted.image {
            return Some(Self::Unpinned);
        }
        let digest = live.strip_prefix(&wanted.image)?.strip_prefix('@')?;
        Some(Self::Pinned(digest.to_owned()))
    }
}

/// What was learnt of an image.
#[derive(Clone, Debug, Default)]
pub struct Learnt {
    pub facts: ImageFacts,
    /// The digest that the tag points to now, where another one runs.
    pub newer_digest: Option<String>,
}

impl Credentials for Asking<'_> {
    async fn for_repository(&self, repository: &str) -> Vec<Credential> {
        self.credentials.for_repository(self.keyring, repository).await
    }
}

impl Asking<'_> {
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

    /// The facts about the image of a resource. `live` is what its Deployment runs, `running` the
    /// same while nothing about the resource changed.
    pub async fn image(
        &self,
        wanted: &RequestedImage,
        running: Option<&Running>,
        live: Option<&Running>,
    ) -> Learnt {
        let reference: Reference = match wanted.image.parse() {
            Ok(reference) => reference,
            Err(error) => return unavailable(&error, live),
        };
        let pinned = match running {
            Some(Running::Pinned(digest)) => digest.parse().ok().map(|d| reference.pinned(d)),
            _ => None,
        };
        let found = match self.find(pinned.as_ref().unwrap_or(&reference)).await {
            Ok(found) => found,
            Err(error) => return unavailable(&error, live),
        };
        let mut learnt = learnt(&found);
        match running {
            Some(Running::Unpinned) if reference.digest().is_none() => learnt.facts.digest = None,
            Some(Running::Pinned(digest)) if reference.digest().is_none() => {
                // Only a remark, so a registry that fails here fails nothing.
                if let Ok(now) = self.find(&reference).await {
                    let now = now.digest.to_string();
                    learnt.newer_digest = (now != *digest).then_some(now);
                }
            }
            _ => {}
        }
        learnt
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
fn unavailable(error: &Error, live: Option<&Running>) -> Learnt {
    let digest = match live {
        Some(Running::Pinned(digest)) => Some(digest.clone()),
        _ => None,
    };
    let unavailable = Some(error.to_string());
    let facts = ImageFacts { digest, unavailable, ..ImageFacts::default() };
    Learnt { facts, ..Learnt::default() }
}

fn learnt(image: &Image) -> Learnt {
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
    Learnt { facts, newer_digest: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_counts_only_while_the_resource_asks_for_the_same_image() {
        let wanted = |image: &str| RequestedImage::by_itself(image);
        let running = |live, image| Running::of(Some(live), &wanted(image));
        assert_eq!(running("r/a:1@sha256:0", "r/a:1"), Some(Running::Pinned("sha256:0".into())));
        assert_eq!(running("r/a:1", "r/a:1"), Some(Running::Unpinned));
        assert_eq!(running("r/a:1@sha256:0", "r/a:2"), None);
        assert_eq!(running("r/a:11@sha256:0", "r/a:1"), None);
        assert_eq!(Running::of(None, &wanted("r/a:1")), None);
    }
}
