//! Writes an image to a repository: what it consists of first, then what names it, so that nobody
//! ever sees a tag whose image is not whole.

use std::{future::Future, pin::Pin};

use llsd_image::{document::Document, manifest::digest_of};

use super::{Layer, rewrite::Rewritten};
use crate::{Digest, Error, Manifest, Placed, Repository};

/// An index may list indexes, but not for ever.
const DEPTH: usize = 3;

/// What writing an image came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pushed {
    pub digest: Digest,
    /// Blobs that were taken over from another repository of the registry.
    pub mounted: usize,
    /// Blobs that were copied from another registry, and their bytes.
    pub copied: usize,
    pub copied_bytes: u64,
}

impl Rewritten<'_> {
    /// Writes the image under the tag of `target`. `source` is where it was read from; its layers
    /// come from there when the target is another repository.
    pub async fn push(
        &self,
        source: Repository<'_>,
        target: Repository<'_>,
    ) -> Result<Pushed, Error> {
        let top =
            self.top().ok_or_else(|| Error::NoPlatform { at: self.image.reference.to_string() })?;
        let mut pushed = Pushed { digest: top.digest(), mounted: 0, copied: 0, copied_bytes: 0 };
        let moves = source.reference().name() != target.reference().name();
        for (part, new) in self.image.parts.iter().zip(&self.parts) {
            if moves {
                for layer in &part.layers {
                    place(source, target, layer, &mut pushed).await?;
                }
            }
            target.push_blob(new.config.bytes.clone()).await?;
            if self.index.is_some() {
                put(target, &new.manifest.digest().to_string(), &new.manifest).await?;
            }
        }
        if moves {
            for other in &self.image.others {
                copy(source, target, &other.digest, &mut pushed, DEPTH).await?;
            }
        }
        let tag = target.reference().tag().map_or_else(|| top.digest().to_string(), str::to_owned);
        put(target, &tag, top).await?;
        Ok(pushed)
    }
}

async fn put(target: Repository<'_>, name: &str, document: &Document) -> Result<(), Error> {
    target.push_manifest(name, &document.media_type, document.bytes.clone()).await?;
    Ok(())
}

async fn place(
    source: Repository<'_>,
    target: Repository<'_>,
    layer: &Layer,
    pushed: &mut Pushed,
) -> Result<(), Error> {
    if layer.is_foreign {
        return Ok(());
    }
    match Box::pin(target.place_blob(source, &layer.digest, layer.size)).await? {
        Placed::AlreadyThere => {}
        Placed::Mounted => pushed.mounted += 1,
        Placed::Copied => {
            pushed.copied += 1;
            pushed.copied_bytes += layer.size;
        }
    }
    Ok(())
}

type Copying<'a> = Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'a>>;

/// Copies what an index lists beside images, as it is.
fn copy<'a>(
    source: Repository<'a>,
    target: Repository<'a>,
    digest: &'a Digest,
    pushed: &'a mut Pushed,
    depth: usize,
) -> Copying<'a> {
    Box::pin(async move {
        let at = source.reference().to_string();
        let content = source.manifest_at(digest).await?;
        match Manifest::parse(&content, &at)? {
            Manifest::Image(manifest) => {
                for blob in std::iter::once(manifest.config()).chain(manifest.layers()) {
                    place(source, target, &Layer::new(blob, &at)?, pushed).await?;
                }
            }
            Manifest::Index(index) => {
                if depth == 0 {
                    return Err(Error::malformed(&at, "its indexes list indexes without end"));
                }
                for entry in index.manifests() {
                    copy(source, target, &digest_of(entry, &at)?, pushed, depth - 1).await?;
                }
            }
        }
        put(target, &digest.to_string(), &Document::parse(content, "", &at)?).await
    })
}
