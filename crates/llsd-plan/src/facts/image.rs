//! What is known of the server's image and of the configuration that it carries.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::problems::{FieldPath, Problem, Reason};

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
    /// The operator's configuration does not let the image run; then nothing else is known of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub forbidden: bool,
    /// Why it is not known that the image has the signature that the operator's configuration asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unverified: Option<String>,
    /// Stands for the keys, one of which signed the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified_with: Option<String>,
}

/// What is said of an image that the operator's configuration does not let run.
pub fn forbidden_image(path: FieldPath, image: &str) -> Problem {
    Problem {
        path,
        reason: Reason::Conflict,
        message: format!("the operator's configuration does not allow the image {image}"),
        remedy: "use an image that is allowed, or ask an administrator to add its registry or repository to \
                 `images` in the operator's ConfigMap"
            .to_owned(),
    }
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
