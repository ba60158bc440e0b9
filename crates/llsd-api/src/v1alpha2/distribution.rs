//! `spec.distribution`: which server image runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{NAME_XOR_IMAGE, validations};

/// A known distribution by name, or an image. Exactly one of the two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = validations(&[NAME_XOR_IMAGE])))]
pub struct DistributionSpec {
    /// A distribution that the operator knows, for example `starter`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub name: Option<String>,
    /// A container image, with a tag or a digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024), regex(pattern = r"^\S+$"))]
    pub image: Option<String>,
}
