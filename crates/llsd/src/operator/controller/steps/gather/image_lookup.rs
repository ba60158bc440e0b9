//! What is known of a resource's images. While nothing about the resource changes, the image that runs is
//! the one that is looked at, whatever its tag points to by now; and what was read of it before is not
//! asked for again.

use std::sync::Arc;
use std::time::Duration;

use llsd_plan::facts::ImageFacts;
use llsd_plan::live::LiveObject;
use llsd_plan::resource::Resource;
use llsd_plan::resource::image::RequestedImage;
use llsd_plan::rollout::{Inquiry, PinnedImage, RunningImage, RunningServer};
use llsd_plan::status::TagNow;
use llsd_registry::{Error, Image, Reference};

use super::recorded_image::recorded;
use crate::operator::controller::context::Context;
use crate::operator::controller::registries::asker::Asker;
use crate::operator::controller::registries::lookups::Answer;
use crate::server_image::inspected;

/// After this time without an answer a change goes on with what is known of the running image, and the
/// status says what is waited for.
pub const LATE: Duration = Duration::from_secs(3);

/// Whose images are looked at, and as whom registries are asked.
pub struct ImageLookup<'a> {
    pub context: &'a Context,
    pub resource: &'a Resource,
    pub live: &'a [LiveObject],
    pub running: &'a RunningServer<'a>,
    pub asker: Asker,
    /// Where the spec names the images.
    pub field: &'static str,
}

/// What came of a question about an image.
#[derive(Debug)]
pub enum ImageAnswer<F> {
    Read(Arc<Image>),
    /// The registry did not answer; this was read before of the image that runs.
    Running(F),
    Unread(Error),
}

/// What is known of an image.
#[derive(Clone, Debug, Default)]
pub struct InspectedImage {
    pub facts: ImageFacts,
    pub tag: TagNow,
    /// A registry said it just now, so that it is worth keeping.
    pub is_new: bool,
}

/// The image whose registry has not answered yet, where the spec names it, and since when it is asked.
#[derive(Clone, Debug)]
pub struct Awaited {
    pub field: &'static str,
    pub image: String,
    pub since: Duration,
}

impl ImageLookup<'_> {
    /// The facts about the image of the resource.
    pub async fn image(&self, wanted: &RequestedImage) -> Result<InspectedImage, Awaited> {
        if self.forbids(&wanted.image) {
            let facts = ImageFacts { forbidden: true, ..ImageFacts::default() };
            return Ok(InspectedImage { facts, ..InspectedImage::default() });
        }
        let mut image = self.looked_up(wanted).await?;
        let reference = wanted.image.parse::<Reference>().ok();
        let needed = reference.and_then(|it| self.asker.configuration.signers_id(&it));
        if needed.is_some() && image.facts.verified_with != needed {
            let why = image.facts.unavailable.clone();
            image.facts.unverified =
                Some(why.unwrap_or_else(|| "its registry was not asked yet".to_owned()));
        }
        Ok(image)
    }

    /// Whether the operator's configuration does not let an image run; then no registry is asked.
    pub(super) fn forbids(&self, image: &str) -> bool {
        !self.asker.configuration.config.images.allows(image)
    }

    /// Keeps what was read before of an image only if it was verified with the keys that hold now.
    pub(super) fn holds(&self, image: &Reference, verified_with: Option<&str>) -> bool {
        let needed = self.asker.configuration.signers_id(image);
        needed.is_none() || needed.as_deref() == verified_with
    }

    async fn looked_up(&self, wanted: &RequestedImage) -> Result<InspectedImage, Awaited> {
        let running = self.running.running(wanted);
        let reference = match wanted.image.parse::<Reference>() {
            Ok(reference) => reference,
            Err(error) => return Ok(unavailable(error.to_string(), running.as_ref())),
        };
        let named = reference.digest().map(ToString::to_string);
        let pinned = RunningImage::from_pinned(running.as_ref(), named.as_deref());
        let recorded = self.recorded(pinned.as_ref()).await;
        let recorded = recorded.filter(|it| self.holds(&reference, it.verified_with.as_deref()));
        match (Inquiry::for_image(self.running, pinned.as_ref(), recorded.is_some()), recorded) {
            (Inquiry::Nothing { has_tag }, Some(facts)) => {
                let tag = self.tag_now(&reference, facts.digest.as_deref(), has_tag).await;
                Ok(InspectedImage { facts, tag, is_new: false })
            }
            (Inquiry::Running { digest, has_tag }, _) => {
                let Ok(digest) = digest.parse() else {
                    return self.as_named(&reference, running.as_ref(), None).await;
                };
                let pinned = reference.pinned(digest);
                let facts = match self.ask(&pinned, Duration::MAX, None).await? {
                    ImageAnswer::Read(image) => self.inspected(&reference, &image),
                    ImageAnswer::Running(facts) => facts,
                    ImageAnswer::Unread(error) => {
                        return Ok(self.unavailable(&pinned, &error, running.as_ref()));
                    }
                };
                let tag = self.tag_now(&reference, facts.digest.as_deref(), has_tag).await;
                Ok(InspectedImage { facts, tag, is_new: true })
            }
            (Inquiry::Named { or_running: true }, recorded) => {
                self.as_named(&reference, running.as_ref(), recorded).await
            }
            (Inquiry::Named { or_running: false } | Inquiry::Nothing { .. }, _) => {
                self.as_named(&reference, running.as_ref(), None).await
            }
        }
    }

    /// The image as the resource names it; where nobody answers, the one that runs.
    async fn as_named(
        &self,
        reference: &Reference,
        running: Option<&PinnedImage>,
        or: Option<ImageFacts>,
    ) -> Result<InspectedImage, Awaited> {
        let (memory, key) = (&self.context.memory, &self.resource.key);
        let state = self.resource.state().unwrap_or_default();
        let age = self.age();
        match self.ask(reference, age, or).await? {
            ImageAnswer::Read(image) => {
                memory.set_resolved_for(key, &state);
                let mut facts = self.inspected(reference, &image);
                let stays_unpinned = self.running.keeps_image() && reference.digest().is_none();
                if stays_unpinned && running == Some(&PinnedImage::Unpinned) {
                    facts.digest = None;
                }
                Ok(InspectedImage { facts, tag: TagNow::Unmoved, is_new: true })
            }
            ImageAnswer::Running(facts) => {
                Ok(InspectedImage { facts, tag: TagNow::Unknown, is_new: false })
            }
            ImageAnswer::Unread(error) => Ok(self.unavailable(reference, &error, running)),
        }
    }

    /// How old an answer for a tag may be: a change of the resource resolves it anew, once.
    pub fn age(&self) -> Duration {
        let (memory, key) = (&self.context.memory, &self.resource.key);
        let state = self.resource.state().unwrap_or_default();
        let is_asked_for = !self.running.keeps_image() && !memory.is_resolved_for(key, &state);
        if is_asked_for { Duration::ZERO } else { self.context.settings.tag_memory() }
    }

    /// What was asked about images that the resource no longer names is not waited for.
    pub fn forget_others<'i>(
        &self,
        wanted: &RequestedImage,
        providers: impl IntoIterator<Item = &'i String>,
    ) {
        let mut images: Vec<Reference> = Vec::new();
        for image in providers {
            let Ok(named) = image.parse::<Reference>() else { continue };
            if let Some(PinnedImage::Digest(digest)) = self.running.running_provider(image) {
                images.extend(digest.parse().ok().map(|digest| named.pinned(digest)));
            }
            images.push(named);
        }
        if let Ok(named) = wanted.image.parse::<Reference>() {
            let digest = match self.running.running(wanted) {
                Some(PinnedImage::Digest(digest)) => digest.parse().ok(),
                Some(PinnedImage::Unpinned) | None => None,
            };
            images.extend(digest.map(|digest| named.pinned(digest)));
            images.push(named);
        }
        let key = &self.resource.key;
        self.context.lookups.only(key, &images);
        self.context.memory.keep_trouble(key, |image| images.contains(image));
    }

    /// What was read before of the image that runs.
    async fn recorded(&self, running: Option<&RunningImage>) -> Option<ImageFacts> {
        recorded(self.context, self.resource, self.live, &running?.digest).await
    }

    /// Where the tag of the image that runs points by now. Only a remark, so nobody waits for it.
    pub(super) async fn tag_now(
        &self,
        reference: &Reference,
        digest: Option<&str>,
        has_tag: bool,
    ) -> TagNow {
        if !has_tag {
            return TagNow::Unmoved;
        }
        let (lookups, age) = (&self.context.lookups, self.context.settings.tag_memory());
        let key = &self.resource.key;
        match lookups.recall_or_ask(key, &self.asker, reference, age).await {
            Some(Ok(now)) => {
                let now = now.digest.to_string();
                let is_running = digest == Some(&*now);
                if is_running { TagNow::Unmoved } else { TagNow::Moved(now) }
            }
            Some(Err(_)) | None => TagNow::Unknown,
        }
    }

    /// What the registry says of an image; where it does not answer, what is known of the one that runs.
    pub(super) async fn ask<F>(
        &self,
        image: &Reference,
        age: Duration,
        or: Option<F>,
    ) -> Result<ImageAnswer<F>, Awaited> {
        let (memory, key) = (&self.context.memory, &self.resource.key);
        match (self.context.lookups.ask(key, &self.asker, image, age).await, or) {
            // Asked before the configuration changed, and so not verified.
            (Answer::Known(Ok(read)), or) if !self.asker.may_run(image, &read) => {
                let unsigned = || Error::Unsigned { at: image.name_at(&read.digest) };
                Ok(or.map_or_else(|| ImageAnswer::Unread(unsigned()), ImageAnswer::Running))
            }
            (Answer::Known(Ok(read)), _) => {
                memory.keep_trouble(key, |other| other != image);
                Ok(ImageAnswer::Read(read))
            }
            (Answer::Known(Err(error)), Some(running)) => {
                tracing::info!(resource = %key, %image, %error, "the image that runs is kept");
                Ok(ImageAnswer::Running(running))
            }
            (Answer::Known(Err(error)), None) => Ok(ImageAnswer::Unread(error)),
            (Answer::Awaited(since), Some(running)) if since >= LATE => {
                Ok(ImageAnswer::Running(running))
            }
            (Answer::Awaited(since), _) => {
                Err(Awaited { field: self.field, image: image.to_string(), since })
            }
        }
    }

    fn inspected(&self, reference: &Reference, image: &Image) -> ImageFacts {
        let verified_with = self.asker.configuration.signers_id(reference);
        ImageFacts { verified_with, ..inspected(image) }
    }

    fn unavailable(
        &self,
        image: &Reference,
        error: &Error,
        running: Option<&PinnedImage>,
    ) -> InspectedImage {
        unavailable(self.trouble(image, error), running)
    }

    /// Why the registry of an image cannot be asked.
    pub(super) fn trouble(&self, image: &Reference, error: &Error) -> String {
        let trouble = self.context.memory.registry_trouble(&self.resource.key, image, error);
        match error {
            Error::Unauthorised { at } => self.asker.secrets.refusal(at, &image.name()),
            _ => trouble,
        }
    }
}

/// What runs pinned stays pinned: a registry that is away is no reason to restart a server.
fn unavailable(why: String, running: Option<&PinnedImage>) -> InspectedImage {
    let digest = match running {
        Some(PinnedImage::Digest(digest)) => Some(digest.clone()),
        Some(PinnedImage::Unpinned) | None => None,
    };
    let facts = ImageFacts { digest, unavailable: Some(why), ..ImageFacts::default() };
    InspectedImage { facts, ..InspectedImage::default() }
}
