//! The operator's own configuration of a distribution, and which images it describes: the image of the
//! table, and every other one that stands for it and is of the same release.

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
    /// image, or in that of the one which the operator was told to take instead.
    pub(super) fn of_image(image: &str, operator: &OperatorFacts) -> Option<Self> {
        let wanted = image.parse::<Reference>().ok()?.name();
        let table = &operator.releases.distributions;
        let own = table.iter().map(|(name, known)| (name, &known.image));
        let others = operator.image_overrides.iter().chain(&operator.related_images);
        let is_it = |(_, other): &(&String, &String)| {
            other.parse::<Reference>().is_ok_and(|other| other.name() == wanted)
        };
        let (name, _) = own.chain(others).find(is_it)?;
        let (name, known) = table.get_key_value(name)?;
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
