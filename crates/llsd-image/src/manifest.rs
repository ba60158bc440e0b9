//! Manifests and indexes as data, and the choice of a platform.

use bytes::Bytes;
use oci_spec::image::{Arch, Descriptor, ImageIndex, ImageManifest, Os};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::{Digest, Error};

/// A document that a manifest request can answer with.
#[derive(Clone, Debug)]
pub enum Manifest {
    Image(Box<ImageManifest>),
    Index(Box<ImageIndex>),
}

/// An entry of an index that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlatformManifest {
    /// `linux/amd64`, or empty where the index does not say.
    pub platform: String,
    pub digest: Digest,
}

impl Manifest {
    /// By content, not by the media type that came with it: a document that could be read both ways
    /// is refused, because its readers would disagree about what the digest stands for.
    pub fn parse(content: &Bytes, what: &str) -> Result<Self, Error> {
        #[derive(Deserialize)]
        struct Shape {
            manifests: Option<IgnoredAny>,
            config: Option<IgnoredAny>,
            layers: Option<IgnoredAny>,
        }
        let unclear = |reason: &dyn ToString| Error::malformed(what, reason.to_string());
        let shape: Shape = serde_json::from_slice(content).map_err(|error| unclear(&error))?;
        match (shape.manifests.is_some(), shape.config.is_some() || shape.layers.is_some()) {
            (true, false) => serde_json::from_slice(content).map(Self::Index),
            (false, true) => serde_json::from_slice(content).map(Self::Image),
            (true, true) => return Err(unclear(&"it is both a manifest and an index")),
            (false, false) => return Err(unclear(&"it is neither a manifest nor an index")),
        }
        .map_err(|error| unclear(&error))
    }
}

/// The platforms of an index, the one to read first: linux/amd64, else the first that is listed.
pub fn platforms(index: &ImageIndex, at: &str) -> Result<Vec<PlatformManifest>, Error> {
    let all = index.manifests().iter();
    let mut images: Vec<&Descriptor> = all.filter(|descriptor| is_image(descriptor)).collect();
    let is_preferred = |descriptor: &&Descriptor| {
        descriptor.platform().as_ref().is_some_and(|platform| {
            *platform.os() == Os::Linux && *platform.architecture() == Arch::Amd64
        })
    };
    if let Some(preferred) = images.iter().position(is_preferred) {
        images[..=preferred].rotate_right(1);
    }
    if images.is_empty() {
        return Err(Error::NoPlatform { at: at.to_owned() });
    }
    let entry = |descriptor| {
        let (platform, digest) = (platform_name(descriptor), digest_of(descriptor, at)?);
        Ok(PlatformManifest { platform, digest })
    };
    images.into_iter().map(entry).collect()
}

/// `linux/arm64/v8`, or empty where the index does not say.
pub fn platform_name(descriptor: &Descriptor) -> String {
    descriptor.platform().as_ref().map_or_else(String::new, |platform| {
        let variant = platform.variant().as_ref().map(|variant| format!("/{variant}"));
        let variant = variant.unwrap_or_default();
        format!("{}/{}{variant}", platform.os(), platform.architecture())
    })
}

/// Attestations are listed as `unknown/unknown`, and an index may list other indexes; neither is
/// an image.
pub fn is_image(descriptor: &Descriptor) -> bool {
    use oci_spec::image::MediaType;
    let is_known = descriptor.platform().as_ref().is_none_or(|platform| {
        platform.os().to_string() != "unknown" && platform.architecture().to_string() != "unknown"
    });
    let media_type = descriptor.media_type();
    let is_index = *media_type == MediaType::ImageIndex
        || media_type.to_string().ends_with("manifest.list.v2+json");
    is_known && !is_index
}

/// A descriptor's digest as this crate's own type.
pub fn digest_of(descriptor: &Descriptor, what: &str) -> Result<Digest, Error> {
    let text = descriptor.digest().to_string();
    text.parse().map_err(|_| Error::malformed(what, "a digest in it is none"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(platform: &str, digit: char) -> String {
        let (os, architecture) = platform.split_once('/').unwrap();
        format!(
            r#"{{"mediaType":"application/vnd.oci.image.manifest.v1+json","size":1,
               "digest":"sha256:{}","platform":{{"os":"{os}","architecture":"{architecture}"}}}}"#,
            digit.to_string().repeat(64)
        )
    }

    fn order(entries: &[(&str, char)]) -> Result<Vec<String>, Error> {
        let entries: Vec<String> =
            entries.iter().map(|(name, digit)| entry(name, *digit)).collect();
        let index = format!(r#"{{"schemaVersion":2,"manifests":[{}]}}"#, entries.join(","));
        let Manifest::Index(index) = Manifest::parse(&index.into(), "x")? else { panic!("index") };
        Ok(platforms(&index, "x")?.into_iter().map(|found| found.platform).collect())
    }

    #[test]
    fn linux_on_amd64_is_read_first_else_what_is_listed_first() {
        let all = [("linux/arm64", '1'), ("windows/amd64", '2'), ("linux/amd64", '3')];
        assert_eq!(order(&all).unwrap(), ["linux/amd64", "linux/arm64", "windows/amd64"]);
        let others = [("linux/s390x", '1'), ("linux/arm64", '2')];
        assert_eq!(order(&others).unwrap(), ["linux/s390x", "linux/arm64"]);
    }

    #[test]
    fn attestations_are_no_platform() {
        let error = order(&[("unknown/unknown", '1')]).unwrap_err();
        assert_eq!(error, Error::NoPlatform { at: "x".into() });
        assert!(order(&[]).is_err());
    }

    #[test]
    fn a_document_that_is_both_or_neither_is_refused() {
        for text in [r#"{"manifests":[],"layers":[]}"#, "{}", "[]", "", r#"{"config":1}"#] {
            assert!(Manifest::parse(&Bytes::from(text), "x").is_err(), "{text}");
        }
    }
}
