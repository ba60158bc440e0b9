//! What is known of the images of external providers: their labels, or the package file in their layers.
//! As with the server's own, what runs stays while nothing about the resource changes, and is not asked
//! for again once it was read.

use std::collections::BTreeMap;
use std::time::Duration;

use llsd_plan::facts::ExternalProviderFacts;
use llsd_plan::rollout::PinnedImage;
use llsd_plan::status::TagNow;
use llsd_registry::{Error, Reference};

use super::super::registries::lookups::Answer;
use super::image_lookup::{Awaited, ImageLookup};
use super::recorded_image::recorded_provider;
use crate::provider_image::provided;

/// What is known of all providers' images.
#[derive(Clone, Debug, Default)]
pub struct ProviderImages {
    pub facts: BTreeMap<String, ExternalProviderFacts>,
    /// Where the tag of each points by now, while an older image is installed.
    pub tags: Vec<(String, TagNow)>,
    /// A registry said some of it just now, so that it is worth keeping.
    pub are_new: bool,
}

impl ImageLookup<'_> {
    /// What the images of external providers say of themselves. `age` is how old the answer for a tag may
    /// be that is resolved anew.
    pub async fn provider_images(
        &self,
        images: impl Iterator<Item = &String>,
        age: Duration,
    ) -> Result<ProviderImages, Awaited> {
        let mut found = ProviderImages::default();
        for image in images {
            let facts = match image.parse::<Reference>() {
                Ok(reference) => self.provider_image(image, &reference, age, &mut found).await?,
                Err(error) => {
                    let unusable = Some(error.to_string());
                    ExternalProviderFacts { unusable, ..ExternalProviderFacts::default() }
                }
            };
            found.facts.insert(image.clone(), facts);
        }
        Ok(found)
    }

    async fn provider_image(
        &self,
        image: &str,
        reference: &Reference,
        age: Duration,
        found: &mut ProviderImages,
    ) -> Result<ExternalProviderFacts, Awaited> {
        let named = reference.digest().map(ToString::to_string);
        let has_tag = named.is_none();
        let running = match self.held.running_provider(image) {
            Some(PinnedImage::Digest(digest)) if self.held.keeps_image() => Some(digest),
            _ => named,
        };
        let Some(digest) = running else { return self.asked(reference, age, found).await };
        let known = recorded_provider(self.context, self.resource, self.live, &digest).await;
        let facts = match (known, digest.parse()) {
            (Some(facts), _) => facts,
            (None, Ok(digest)) => {
                self.asked(&reference.pinned(digest), Duration::MAX, found).await?
            }
            (None, Err(_)) => self.asked(reference, age, found).await?,
        };
        if has_tag && facts.unavailable.is_none() {
            let tag = self.tag_now(reference, facts.digest.as_deref(), true).await;
            found.tags.push((image.to_owned(), tag));
        }
        Ok(facts)
    }

    async fn asked(
        &self,
        reference: &Reference,
        age: Duration,
        found: &mut ProviderImages,
    ) -> Result<ExternalProviderFacts, Awaited> {
        match self.ask(reference, age).await {
            Answer::Known(Ok(image)) => {
                found.are_new = true;
                Ok(provided(&image))
            }
            Answer::Known(Err(error)) => Ok(self.not_read(reference, &error)),
            Answer::Awaited(since) => Err(Awaited { image: reference.to_string(), since }),
        }
    }

    fn not_read(&self, image: &Reference, error: &Error) -> ExternalProviderFacts {
        tracing::warn!(%image, %error, "an external provider's image cannot be read");
        let why = self.context.memory.registry_trouble(&self.resource.key, error);
        ExternalProviderFacts { unavailable: Some(why), ..ExternalProviderFacts::default() }
    }
}
