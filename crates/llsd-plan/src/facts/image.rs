//! What is known of the server's image and of the configuration that it carries.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ImageFacts {
    /// The digest that the image resolved to, `sha256:…`; without it the image runs unpinned.
    pub digest: Option<String>,
    /// The release of the server inside, from the image's version label.
    pub release: Option<String>,
    /// The variables that the image itself sets, where its configuration was read.
    pub variables: Option<BTreeSet<String>>,
    /// The base configuration that the image carries.
    pub base: Option<BaseFacts>,
    /// The image was looked at, so that without a base here it carries none.
    pub inspected: bool,
    /// Why the registry could not be asked, in words for the user.
    pub unavailable: Option<String>,
    /// The image is known to carry a configuration, so that none of the operator's own may stand
    /// in for it while the registry cannot be asked.
    pub carries_base: bool,
    /// Platforms of the image that hold another configuration than the one in `base`.
    pub differing_platforms: Vec<String>,
}

/// A base configuration and where it was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BaseFacts {
    pub text: String,
    pub source: BaseSource,
    /// The label that held it or pointed to it, or the file that was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_in: Option<String>,
}

/// Where a base configuration came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BaseSource {
    /// In a label of the image.
    Labels,
    /// In a layer that a label points to.
    Layer,
    /// In the operator itself, for a distribution that it knows.
    Embedded,
    /// In a file on the command line.
    File,
}
