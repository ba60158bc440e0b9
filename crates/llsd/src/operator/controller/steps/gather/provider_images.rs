//! What is known of the images of external providers: their labels, or the package file in their layers.
//! As with the server's own, what runs stays while nothing about the resource changes, and is not asked
//! for again once it was read.

use std::collections::BTreeMap;
use std::time::Duration;

use llsd_plan::facts::ExternalProviderFacts;
use llsd_plan::rollout::{Inquiry, RunningImage};
use llsd_plan::status::TagNow;
use llsd_registry::Reference;

use super::image_lookup::{Awaited, ImageAnswer, ImageLookup};
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
                _ if self.forbids(image) => {
                    ExternalProviderFacts { forbidden: true, ..ExternalProviderFacts::default() }
                }
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
        let running = self.running.running_provider(image);
        let running = RunningImage::from_pinned(running.as_ref(), named.as_deref());
        let recorded = match &running {
            Some(RunningImage { digest, .. }) => {
                recorded_provider(self.context, self.resource, self.live, digest).await
            }
            None => None,
        };
        let recorded = recorded.filter(|it: &ExternalProviderFacts| {
            self.holds(reference, it.verified_with.as_deref())
        });
        let (facts, has_tag) = match (
            Inquiry::for_image(self.running, running.as_ref(), recorded.is_some()),
            recorded,
        ) {
            (Inquiry::Nothing { has_tag }, Some(facts)) => (facts, has_tag),
            (Inquiry::Running { digest, has_tag }, _) if let Ok(digest) = digest.parse() => {
                let pinned = reference.pinned(digest);
                (self.asked(&pinned, Duration::MAX, None, found).await?, has_tag)
            }
            (Inquiry::Named { or_running: true }, recorded) => {
                return self.asked(reference, age, recorded, found).await;
            }
            _ => return self.asked(reference, age, None, found).await,
        };
        if has_tag && facts.unavailable.is_none() {
            let tag = self.tag_now(reference, facts.digest.as_deref(), true).await;
            found.tags.push((image.to_owned(), tag));
        }
        Ok(facts)
    }

    /// What the registry says; where it does not answer, what is known of the image that runs.
    async fn asked(
        &self,
        reference: &Reference,
        age: Duration,
        or: Option<ExternalProviderFacts>,
        found: &mut ProviderImages,
    ) -> Result<ExternalProviderFacts, Awaited> {
        match self.ask(reference, age, or).await? {
            ImageAnswer::Read(image) => {
                found.are_new = true;
                let verified_with = self.asker.configuration.signers_id(reference);
                Ok(ExternalProviderFacts { verified_with, ..provided(&image) })
            }
            ImageAnswer::Running(facts) => {
                found.tags.push((reference.to_string(), TagNow::Unknown));
                Ok(facts)
            }
            ImageAnswer::Unread(error) => {
                tracing::warn!(image = %reference, %error, "an external provider's image cannot be read");
                let unavailable = Some(self.trouble(reference, &error));
                Ok(ExternalProviderFacts { unavailable, ..<_>::default() })
            }
        }
    }
}
