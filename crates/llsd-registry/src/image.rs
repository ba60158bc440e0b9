//! Reads one image, manifest by manifest and blob by blob, into what the rest of the program needs.

use std::collections::BTreeSet;

use bytes::Bytes;
use llsd_image::manifest::{digest_of, platforms};
use oci_spec::image::{ImageConfiguration, ImageManifest};

use crate::{
    Digest, Error, Limits, Manifest, Reference, Source,
    labels::{self, Labels, Location},
    published,
    unpacking::Layers,
};

/// Platforms of one index whose configurations are compared.
const COMPARED: usize = 8;

/// What is looked for in an image beside its labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wanted {
    /// The base configuration of a distribution.
    Base,
    /// The text of one file, unless the image has all of these labels.
    File { path: &'static str, limit: u64, unless: &'static [&'static str] },
}

impl Wanted {
    /// The longest file that is read for it.
    pub(crate) fn longest_file(self, limits: &Limits) -> u64 {
        match self {
            Self::Base => limits.file,
            Self::File { limit, .. } => limit,
        }
    }
}

/// An image as far as its configuration is concerned.
#[derive(Clone, Debug)]
pub struct Image {
    /// Where it was found, pinned.
    pub reference: Reference,
    /// The index's digest where there is an index, else the manifest's.
    pub digest: Digest,
    /// The platform that was read, such as `linux/amd64`.
    pub platform: String,
    pub labels: Labels,
    /// Names of the variables that the image sets.
    pub variables: BTreeSet<String>,
    /// The base configuration; `Ok(None)` without labels for one. A configuration that is there and
    /// cannot be used leaves the image itself, and so its digest, usable.
    pub base: Result<Option<BaseConfig>, Error>,
    /// The file that was looked for; `Ok(None)` where the image has none.
    pub file: Result<Option<String>, Error>,
    /// Platforms of the index that hold another configuration than the one that was read.
    pub differing_platforms: Vec<String>,
}

impl Image {
    /// The schema version that the image's label claims.
    pub fn config_version(&self) -> Option<&str> {
        labels::config_version(&self.labels)
    }

    /// The server's release that the image's labels claim.
    pub fn release(&self) -> Option<String> {
        labels::release(&self.labels)
    }
}

/// A base configuration as the image holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseConfig {
    pub text: String,
    pub source: Source,
    /// The label that holds it, or names its layer.
    pub label: String,
}

/// Reads the image of this digest; `manifest` is its content where that is at hand.
pub(crate) async fn fetch(
    layers: Layers<'_>,
    digest: &Digest,
    wanted: Wanted,
    manifest: Option<Bytes>,
) -> Result<Image, Error> {
    let repository = layers.repository;
    let reader = Reader { layers, digest, at: repository.reference().to_string(), wanted };
    let content = match manifest {
        Some(content) => content,
        None => repository.manifest_at(digest).await?,
    };
    let index = match Manifest::parse(&content, &reader.at)? {
        Manifest::Image(manifest) => return reader.part(&manifest, None).await,
        Manifest::Index(index) => index,
    };
    let all = platforms(&index, &reader.at)?;
    let mut image = reader.platform(&all[0].digest, &all[0].platform).await?;
    for other in all[1..].iter().take(COMPARED) {
        match reader.platform(&other.digest, &other.platform).await {
            Ok(other) if !same(&image, &other) => image.differing_platforms.push(other.platform),
            Ok(_) => {}
            // Only a comparison: it must not cost the platform that can be read.
            Err(error) => {
                tracing::debug!(platform = other.platform, %error, "not compared");
            }
        }
    }
    Ok(image)
}

fn same(one: &Image, other: &Image) -> bool {
    let text = |part: &Image| {
        part.base.as_ref().ok().map(|base| base.as_ref().map(|base| base.text.clone()))
    };
    text(one) == text(other) && one.file == other.file
}

struct Reader<'a> {
    layers: Layers<'a>,
    /// The whole image's, whichever platform is read.
    digest: &'a Digest,
    at: String,
    wanted: Wanted,
}

impl Reader<'_> {
    async fn platform(&self, digest: &Digest, platform: &str) -> Result<Image, Error> {
        let content = self.layers.repository.manifest_at(digest).await?;
        match Manifest::parse(&content, &self.at)? {
            Manifest::Image(manifest) => self.part(&manifest, Some(platform)).await,
            Manifest::Index(_) => Err(Error::NoPlatform { at: self.at.clone() }),
        }
    }

    async fn part(&self, manifest: &ImageManifest, platform: Option<&str>) -> Result<Image, Error> {
        let limits = self.layers.repository.limits();
        let what = format!("the configuration of {}", self.at);
        let descriptor = manifest.config();
        if descriptor.size() > limits.config {
            return Err(Error::TooLarge { what, limit: limits.config });
        }
        let digest = digest_of(descriptor, &self.at)?;
        let content = self.layers.repository.blob(&digest, descriptor.size()).await?;
        let config: ImageConfiguration =
            serde_json::from_slice(&content).map_err(|error| Error::malformed(&what, error))?;
        let labels = config.config().as_ref().and_then(|config| config.labels().clone());
        let labels: Labels = labels.unwrap_or_default().into_iter().collect();
        let file = self.file_of(manifest, &labels).await?;
        let location = match self.wanted {
            Wanted::Base => labels::locate(&labels, limits.file),
            Wanted::File { .. } => Ok(None),
        };
        let base = match location {
            Err(error) => Err(error),
            Ok(None) => Ok(None),
            Ok(Some(Location::Inline { label, text })) => {
                Ok(Some(BaseConfig { text, source: Source::Labels, label }))
            }
            Ok(Some(Location::InLayer { digest, path })) => {
                match named_layer(manifest, &config, &digest, &self.at)? {
                    Some((digest, size)) => self.base_in(&digest, size, &path).await?.map(Some),
                    None => Err(Error::InvalidLabel {
                        label: labels::LAYER.to_owned(),
                        reason: "the image has no such layer",
                    }),
                }
            }
        };
        let own = || format!("{}/{}", config.os(), config.architecture());
        let platform = platform.filter(|name| !name.is_empty()).map_or_else(own, str::to_owned);
        let env = config.config().as_ref().and_then(|config| config.env().clone());
        let name = |line: String| line.split('=').next().map(str::to_owned);
        let variables = env.into_iter().flatten().filter_map(name).collect();
        Ok(Image {
            reference: self.layers.repository.reference().pinned(self.digest.clone()),
            digest: self.digest.clone(),
            platform,
            labels,
            variables,
            base,
            file,
            differing_platforms: Vec::new(),
        })
    }

    /// The file that is looked for. The outer error is the lookup's, the inner one the image's own.
    async fn file_of(
        &self,
        manifest: &ImageManifest,
        labels: &Labels,
    ) -> Result<Result<Option<String>, Error>, Error> {
        let Wanted::File { path, unless, .. } = self.wanted else { return Ok(Ok(None)) };
        if unless.iter().all(|label| labels.contains_key(*label)) {
            return Ok(Ok(None));
        }
        let of_image = published::layers(manifest, &self.at)?;
        let largest = self.layers.repository.limits().layer;
        if let Some(layer) = of_image.iter().find(|layer| layer.size > largest) {
            let what = format!("layer {} of {}", layer.digest, self.at);
            return Ok(Err(Error::TooLarge { what, limit: largest }));
        }
        let found = Box::pin(published::bytes_in_image(self.layers, &of_image, path)).await?;
        Ok(match found {
            Ok(content) => published::as_text(content, path).map(Some),
            Err(Error::NotInImage { .. } | Error::DeletedInLayer { .. }) => Ok(None),
            Err(error) => Err(error),
        })
    }

    /// The outer error is the lookup's, the inner one the layer's own.
    async fn base_in(
        &self,
        digest: &Digest,
        size: u64,
        path: &str,
    ) -> Result<Result<BaseConfig, Error>, Error> {
        let limit = self.layers.repository.limits().layer;
        if size > limit {
            // A matter of this image and no failed lookup: its digest stays usable.
            let what = format!("layer {digest} of {}", self.at);
            return Ok(Err(Error::TooLarge { what, limit }));
        }
        let longest = self.layers.file;
        let content = self.layers.search(digest, size, path, |watch| watch.required(longest));
        Ok(content.await?.and_then(|content| {
            let text = published::as_text(content, path)?;
            Ok(BaseConfig { text, source: Source::Layer, label: labels::LAYER.to_owned() })
        }))
    }
}

/// The layer that the label means: by the digest in the manifest, or by that of its unpacked form,
/// which is the one that `docker inspect` shows.
fn named_layer(
    manifest: &ImageManifest,
    config: &ImageConfiguration,
    wanted: &Digest,
    at: &str,
) -> Result<Option<(Digest, u64)>, Error> {
    let unpacked = config.rootfs().diff_ids().iter().map(Some).chain(std::iter::repeat(None));
    for (layer, unpacked) in manifest.layers().iter().zip(unpacked) {
        let digest = digest_of(layer, at)?;
        if digest == *wanted || unpacked.is_some_and(|text| *text == wanted.to_string()) {
            return Ok(Some((digest, layer.size())));
        }
    }
    Ok(None)
}
