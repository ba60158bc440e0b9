//! `spec.distribution`: which server image runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::patterns::NO_BLANKS;
use crate::rules::{NAME_XOR_IMAGE, validations};

/// A known distribution by name, or an image. Exactly one of the two.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = validations(&[NAME_XOR_IMAGE])))]
pub struct DistributionSpec {
    /// A distribution that the operator knows, for example `starter`.
    #[schemars(length(min = 1, max = 253))]
    pub name: Option<String>,
    /// A container image, with a tag or a digest.
    #[schemars(length(min = 1, max = 1024), regex(pattern = NO_BLANKS))]
    pub image: Option<String>,
}
