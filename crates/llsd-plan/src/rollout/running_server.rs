//! The image that a running server keeps while its resource is unchanged: a tag that points elsewhere by
//! now is no reason to restart it.

use crate::live::{DeploymentDetail, LiveObject};
use crate::resource::Resource;
use crate::resource::image::RequestedImage;
use crate::values::image_name::split_digest;

/// What the Deployment of a resource runs, known before anything is planned.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunningServer<'a> {
    deployment: Option<&'a DeploymentDetail>,
    /// Whether it was made from the spec that the resource has now.
    is_current: bool,
    /// Whether the resource asks for its image to be resolved again.
    asks_again: bool,
}

/// The image that a Deployment runs, if it is the one that its resource asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PinnedImage {
    /// Pinned to this digest.
    Digest(String),
    /// Without a digest, as a registry that could not be asked had left it.
    Unpinned,
}

impl<'a> RunningServer<'a> {
    pub fn find(resource: &Resource, live: &'a [LiveObject]) -> Self {
        let deployment = live.iter().find_map(LiveObject::deployment);
        let is_current = deployment.is_some_and(|deployment| deployment.is_made_from(resource));
        let asks_again =
            deployment.is_some_and(|deployment| !deployment.is_refreshed_for(resource));
        Self { deployment, is_current, asks_again }
    }

    /// What runs of the image that the resource asks for.
    pub fn running(&self, wanted: &RequestedImage) -> Option<PinnedImage> {
        PinnedImage::matching(self.deployment?.state.image.as_deref()?, &wanted.image)
    }

    /// What runs of an external provider's image that the resource asks for.
    pub fn running_provider(&self, image: &str) -> Option<PinnedImage> {
        let mut running = self.deployment?.provider_images.iter();
        running.find_map(|live| PinnedImage::matching(live, image))
    }

    /// Whether what runs stays, whatever its tag points to by now.
    pub fn keeps_image(&self) -> bool {
        self.is_current
    }

    /// Whether the resource asks for its image to be resolved again since its Deployment was made.
    pub fn asks_again(&self) -> bool {
        self.asks_again
    }
}

impl PinnedImage {
    fn matching(live: &str, wanted: &str) -> Option<Self> {
        if live == wanted {
            return Some(Self::Unpinned);
        }
        let (name, digest) = split_digest(live);
        digest.filter(|_| name == wanted).map(|digest| Self::Digest(digest.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_counts_only_while_the_resource_asks_for_the_same_image() {
        let running = |live, image| PinnedImage::matching(live, image);
        let pinned = PinnedImage::Digest("sha256:0".into());
        assert_eq!(running("r/a:1@sha256:0", "r/a:1"), Some(pinned));
        assert_eq!(running("r/a:1", "r/a:1"), Some(PinnedImage::Unpinned));
        assert_eq!(running("r/a:1@sha256:0", "r/a:2"), None);
        assert_eq!(running("r/a:11@sha256:0", "r/a:1"), None);
    }
}
