//! An image as its registry holds it, whole: the index, every platform's manifest and configuration.
//! What showing it needs, and writing it again with other labels.

mod find;
mod rewrite;
mod write;

use llsd_image::document::Document;
use llsd_image::manifest::{digest_of, is_image, platform_name};
use oci_spec::image::{Descriptor, ImageManifest};

use crate::{Digest, Error, Manifest, Reference, Repository, labels::Labels};
pub use find::FoundFile;
pub(crate) use find::{as_text, bytes_in_image};
pub use rewrite::Rewritten;
pub use write::Pushed;

/// Entries of an index that are looked at; the most that was ever seen is some thirty.
const ENTRIES: usize = 200;

/// The configurations of images that are run; an index may list other things.
const IMAGE_CONFIGS: [&str; 2] =
    ["application/vnd.oci.image.config.v1+json", "application/vnd.docker.container.image.v1+json"];

/// An image and everything that its index lists.
#[derive(Clone, Debug)]
pub struct Published {
    pub reference: Reference,
    /// The index's digest where there is an index, else the manifest's.
    pub digest: Digest,
    /// The index; without one, the only part's manifest is all there is.
    index: Option<Document>,
    parts: Vec<Part>,
    others: Vec<Other>,
}

/// The image of one platform.
#[derive(Clone, Debug)]
pub struct Part {
    /// Such as `linux/amd64`.
    pub platform: String,
    pub digest: Digest,
    /// Its place in the index.
    position: usize,
    manifest: Document,
    config: Document,
    layers: Vec<Layer>,
}

/// What an index lists beside images: attestations and other indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    pub platform: String,
    pub digest: Digest,
}

/// A layer as the manifest lists it, the lowest first.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    pub(crate) digest: Digest,
    pub(crate) size: u64,
    /// Kept elsewhere, and by its licence not to be copied.
    pub(crate) is_foreign: bool,
}

impl Published {
    /// Reads manifests and configurations, no layers.
    pub async fn fetch(repository: Repository<'_>) -> Result<Self, Error> {
        let reference = repository.reference().clone();
        let at = reference.to_string();
        let (digest, content) = repository.manifest().await?;
        let mut image = Self {
            reference,
            digest: digest.clone(),
            index: None,
            parts: Vec::new(),
            others: Vec::new(),
        };
        match Manifest::parse(&content, &at)? {
            Manifest::Image(manifest) => {
                let document = Document::parse(content, "", &at)?;
                let part = part(repository, &manifest, document, digest, "", 0).await?;
                let no_image = "it is no image that can be run";
                image.parts.push(part.ok_or_else(|| Error::malformed(&at, no_image))?);
            }
            Manifest::Index(index) => {
                let entries = index.manifests();
                if entries.len() > ENTRIES {
                    let what = format!("the list of platforms of {at}");
                    return Err(Error::TooLarge { what, limit: ENTRIES as u64 });
                }
                image.index = Some(Document::parse(content, "", &at)?);
                for (position, entry) in entries.iter().enumerate() {
                    image.read_entry(repository, entry, position, &at).await?;
                }
                if image.parts.is_empty() {
                    return Err(Error::NoPlatform { at });
                }
            }
        }
        Ok(image)
    }

    async fn read_entry(
        &mut self,
        repository: Repository<'_>,
        entry: &Descriptor,
        position: usize,
        at: &str,
    ) -> Result<(), Error> {
        let (platform, digest) = (platform_name(entry), digest_of(entry, at)?);
        if is_image(entry) {
            let content = repository.manifest_at(&digest).await?;
            let Manifest::Image(manifest) = Manifest::parse(&content, at)? else {
                return Err(Error::malformed(at, "an entry of the index is not what it says"));
            };
            let document = Document::parse(content, entry.media_type().as_ref(), at)?;
            let digest = digest.clone();
            let part = part(repository, &manifest, document, digest, &platform, position).await?;
            if let Some(part) = part {
                self.parts.push(part);
                return Ok(());
            }
        }
        self.others.push(Other { platform, digest });
        Ok(())
    }

    pub fn is_index(&self) -> bool {
        self.index.is_some()
    }

    /// The images, as they are listed.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// What the index lists beside them.
    pub fn others(&self) -> &[Other] {
        &self.others
    }
}

impl Part {
    pub fn labels(&self) -> Labels {
        let labels =
            self.config.value.pointer("/config/Labels").and_then(|labels| labels.as_object());
        let text = |(key, value): (&String, &serde_json::Value)| {
            Some((key.clone(), value.as_str()?.to_owned()))
        };
        labels.into_iter().flatten().filter_map(text).collect()
    }

    pub fn layer_count(&self) -> usize {
        self.layers.len()
    }

    /// What pulling it transfers, in bytes.
    pub fn size(&self) -> u64 {
        let layers = self.layers.iter().map(|layer| layer.size);
        layers.fold(self.config.bytes.len() as u64, u64::saturating_add)
    }
}

/// The layers of a manifest, the lowest first.
pub(crate) fn layers(manifest: &ImageManifest, at: &str) -> Result<Vec<Layer>, Error> {
    manifest.layers().iter().map(|layer| Layer::new(layer, at)).collect()
}

impl Layer {
    fn new(listed: &Descriptor, at: &str) -> Result<Self, Error> {
        let is_foreign = listed.urls().as_ref().is_some_and(|urls| !urls.is_empty());
        Ok(Self { digest: digest_of(listed, at)?, size: listed.size(), is_foreign })
    }
}

/// `None` where the manifest is of something else than an image.
async fn part(
    repository: Repository<'_>,
    manifest: &ImageManifest,
    document: Document,
    digest: Digest,
    platform: &str,
    position: usize,
) -> Result<Option<Part>, Error> {
    let at = repository.reference().to_string();
    let what = format!("the configuration of {at}");
    let descriptor = manifest.config();
    if !IMAGE_CONFIGS.contains(&descriptor.media_type().as_ref()) {
        return Ok(None);
    }
    let limit = repository.limits().config;
    if descriptor.size() > limit {
        return Err(Error::TooLarge { what, limit });
    }
    let content = repository.blob(&digest_of(descriptor, &at)?, descriptor.size()).await?;
    let config = Document::parse(content, descriptor.media_type().as_ref(), &what)?;
    let layers = layers(manifest, &at)?;
    let own = |name: &str| config.value[name].as_str().unwrap_or("unknown").to_owned();
    let platform = match platform {
        "" => format!("{}/{}", own("os"), own("architecture")),
        named => named.to_owned(),
    };
    Ok(Some(Part { platform, digest, position, manifest: document, config, layers }))
}
