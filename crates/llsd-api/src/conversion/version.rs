//! The two versions of the resource.

use serde_json::Value;

use crate::KIND;

/// A version of the resource that the API server serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    V1Alpha1,
    V1Alpha2,
}

impl Version {
    pub const ALL: [Self; 2] = [Self::V1Alpha1, Self::V1Alpha2];

    pub fn api_version(self) -> &'static str {
        match self {
            Self::V1Alpha1 => "llamastack.io/v1alpha1",
            Self::V1Alpha2 => "llamastack.io/v1alpha2",
        }
    }

    /// The version that a `desiredAPIVersion` or an object's `apiVersion` names.
    pub fn from_api_version(api_version: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.api_version() == api_version)
    }

    /// The version of an object, if it is of our kind.
    pub fn from_object(object: &Value) -> Option<Self> {
        let ours = object.get("kind")?.as_str()? == KIND;
        Self::from_api_version(object.get("apiVersion")?.as_str()?).filter(|_| ours)
    }

    pub(super) fn other(self) -> Self {
        match self {
            Self::V1Alpha1 => Self::V1Alpha2,
            Self::V1Alpha2 => Self::V1Alpha1,
        }
    }
}
