//! The operator's own configuration of a distribution, and which images it describes: the image of the
//! table, and every other one that stands for it and is of the same release.

use std::collections::BTreeSet;

use llsd_reference::Reference;

use crate::facts::OperatorFacts;
use crate::releases::{
    Distribution, Releases, ServerFamily, is_of_release, release_of_server, server_of,
};

/// The configuration that the operator has of a distribution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EmbeddedConfig {
    /// The distribution's name in the table.
    pub(crate) distribution: &'static str,
    known: &'static Distribution,
    /// The image is the table's own.
    is_own: bool,
}

/// How the release of an image is to that of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReleaseMatch {
    Same,
    /// As the image states its own.
    Other(String),
    Unknown,
}

impl EmbeddedConfig {
    pub(super) fn new(
        distribution: &'static str,
        known: &'static Distribution,
        image: &str,
    ) -> Self {
        let is_own = match (image.parse::<Reference>(), known.image.parse::<Reference>()) {
            (Ok(image), Ok(own)) => image.name() == own.name() && image.tag() == own.tag(),
            _ => image == known.image,
        };
        Self { distribution, known, is_own }
    }

    /// The configuration of the distribution that an image is of: it lies in the repository of the table's
    /// image, or in that of the one which the operator was told to take instead. Where several share a repository, the
    /// tag tells them apart; none is meant where it does not.
    pub(super) fn of_image(image: &str, operator: &OperatorFacts) -> Option<Self> {
        let wanted = image.parse::<Reference>().ok()?;
        let table = &operator.releases.distributions;
        let own = table.iter().map(|(name, known)| (name, &known.image));
        let others = operator.image_overrides.iter().chain(&operator.related_images);
        let named = own.chain(others).filter_map(|(name, other)| {
            let other = other.parse::<Reference>().ok()?;
            (other.name() == wanted.name()).then(|| (name, other.tag() == wanted.tag()))
        });
        let named: Vec<(&String, bool)> = named.collect();
        let is_tagged = named.iter().any(|(_, is_tagged)| *is_tagged);
        let meant = named.iter().filter(|(_, tagged)| *tagged == is_tagged);
        let meant: BTreeSet<&String> = meant.map(|(name, _)| *name).collect();
        let only = meant.first().filter(|_| meant.len() == 1)?;
        let (name, known) = table.get_key_value(*only)?;
        Some(Self::new(name, known, image))
    }

    pub(super) fn text(&self) -> &'static str {
        self.known.base()
    }

    /// The release that it describes.
    pub(crate) fn release(&self) -> &'static str {
        &self.known.release
    }

    /// The table's own image.
    pub(crate) fn image(&self) -> &'static str {
        &self.known.image
    }

    pub(super) fn server(&self) -> Option<ServerFamily> {
        server_of(&self.known.release)
    }

    /// Whether it describes an image; `label` is the image's version label, which counts where it says a
    /// release of the server: images that are built on others inherit theirs.
    pub(crate) fn fits(&self, image: &str, label: Option<&str>) -> ReleaseMatch {
        if self.is_own {
            return ReleaseMatch::Same;
        }
        let server = self.server();
        let says = |label: &&str| server_of(label).is_some() || server == Some(ServerFamily::Ogx);
        let Some(stated) = release_of_server(image, label.filter(says), server) else {
            return ReleaseMatch::Unknown;
        };
        match is_of_release(&stated, self.release()) {
            Some(true) => ReleaseMatch::Same,
            Some(false) => ReleaseMatch::Other(stated),
            None => ReleaseMatch::Unknown,
        }
    }
}

/// The distribution of whose image this one is probably a copy: the last part of its path and its tag are
/// the same.
pub(crate) fn probably_copied(image: &str, releases: &'static Releases) -> Option<&'static str> {
    let wanted = image.parse::<Reference>().ok()?;
    let last = |image: &Reference| image.repository().rsplit('/').next().map(str::to_owned);
    let is_like = |known: &Distribution| {
        known.image.parse::<Reference>().is_ok_and(|own| {
            own.name() != wanted.name() && last(&own) == last(&wanted) && own.tag() == wanted.tag()
        })
    };
    let mut table = releases.distributions.iter();
    table.find(|(_, known)| is_like(known)).map(|(name, _)| name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distribution(image: &str, overrides: &[(&str, &str)]) -> Option<&'static str> {
        let image_overrides =
            overrides.iter().map(|(name, image)| ((*name).into(), (*image).into())).collect();
        let operator = OperatorFacts { image_overrides, ..OperatorFacts::default() };
        EmbeddedConfig::of_image(image, &operator).map(|found| found.distribution)
    }

    #[test]
    fn distributions_that_share_a_repository_are_told_apart_by_their_tags() {
        let shared = [("ogx-starter", "reg/llama:1.5.0"), ("starter", "reg/llama:0.7.3")];
        assert_eq!(distribution("reg/llama:0.7.3", &shared), Some("starter"));
        assert_eq!(distribution("reg/llama:1.5.0", &shared), Some("ogx-starter"));
        assert_eq!(distribution("reg/llama:0.7.2", &shared), None);
        assert_eq!(distribution("reg/llama:0.7.2", &shared[1..]), Some("starter"));
    }
}
