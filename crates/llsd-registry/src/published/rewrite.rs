//! The same image with other labels: new configurations, the manifests that name them, and the index
//! that names those. Nothing is written here.

use llsd_image::document::Document;

use super::Published;
use crate::{Digest, Error, labels::Change};

/// An image that is ready to be written.
#[derive(Debug)]
pub struct Rewritten<'a> {
    pub(super) image: &'a Published,
    pub(super) parts: Vec<NewPart>,
    pub(super) index: Option<Document>,
}

#[derive(Debug)]
pub(super) struct NewPart {
    pub(super) config: Document,
    pub(super) manifest: Document,
}

impl Published {
    /// The image with labels changed: one change for each of [`parts`](Self::parts), in that order.
    pub fn relabelled(&self, changes: &[Change]) -> Result<Rewritten<'_>, Error> {
        let at = self.reference.to_string();
        let mut parts = Vec::new();
        for (part, change) in self.parts.iter().zip(changes) {
            let what = format!("the configuration of {at}");
            let config = part.config.relabelled(change, &what)?;
            let manifest = part.manifest.with_config(&config);
            parts.push(NewPart { config, manifest });
        }
        let positions = self.parts.iter().map(|part| part.position);
        let index = self.index.as_ref().map(|index| {
            index.with_entries(positions.zip(parts.iter().map(|part| &part.manifest)))
        });
        Ok(Rewritten { image: self, parts, index })
    }
}

impl Rewritten<'_> {
    pub(super) fn top(&self) -> Option<&Document> {
        self.index.as_ref().or_else(|| self.parts.first().map(|part| &part.manifest))
    }

    /// What the image will be known by.
    pub fn digest(&self) -> Option<Digest> {
        self.top().map(Document::digest)
    }

    /// Whether the labels said it all already.
    pub fn is_unchanged(&self) -> bool {
        self.digest().as_ref() == Some(&self.image.digest)
    }
}
