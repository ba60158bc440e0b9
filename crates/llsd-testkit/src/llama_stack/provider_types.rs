//! The provider types of a release, as the release itself describes them.

use serde::Deserialize;
use serde_json::Value;

use super::Release;

/// A provider type that a release has.
#[derive(Debug, Clone, Deserialize)]
pub struct InstalledType {
    pub api: String,
    /// `remote::vllm`
    #[serde(rename = "type")]
    pub name: String,
    pub fields: Vec<InstalledField>,
    /// It takes any other field, too.
    pub open: bool,
    /// The required fields with the first of their values make a configuration.
    pub builds: bool,
}

/// A field of the configuration of a provider type.
#[derive(Debug, Clone, Deserialize)]
pub struct InstalledField {
    pub name: String,
    pub required: bool,
    /// Some that the release accepts.
    pub values: Vec<Value>,
}

impl Release {
    /// The provider types of its own registry, but for those whose packages are not installed here. Installs the
    /// release first where it is missing.
    pub fn provider_types(self) -> anyhow::Result<Vec<InstalledType>> {
        self.ask("provider_types.py", &())
    }
}
