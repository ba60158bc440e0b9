//! What is known of an external provider's image.

use serde::{Deserialize, Serialize};

/// What an external provider's image says of itself: in its labels, empty where one is not there, or in
/// its package file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ExternalProviderFacts {
    /// The digest that the image resolved to, `sha256:…`; without it the image runs unpinned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The API it provides, as config.yaml spells it.
    pub api: String,
    pub provider_type: String,
    /// The Python package that the server imports.
    pub module: String,
    /// The class of its configuration, where the package has no module `provider`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_class: Option<String>,
    /// The text of its package file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package_file: Option<String>,
    /// Platforms of the image whose package file is another one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differing_platforms: Vec<String>,
    /// Why the registry could not be asked, in words for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
    /// Stands for the keys, one of which signed the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified_with: Option<String>,
    /// The operator's configuration does not let the image run; then nothing else is known of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub forbidden: bool,
    /// What is wrong with the image itself, in words for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unusable: Option<String>,
}

impl ExternalProviderFacts {
    /// The labels by which an image says it.
    pub const API_LABEL: &str = "io.llamastack.provider.api";
    pub const TYPE_LABEL: &str = "io.llamastack.provider.type";
    pub const MODULE_LABEL: &str = "io.llamastack.provider.module";
    /// Where the package has no module `provider`.
    pub const CONFIG_CLASS_LABEL: &str = "io.llamastack.provider.config-class";
    /// An image with these says all that must be known of it.
    pub const LABELS: &[&str] = &[Self::API_LABEL, Self::TYPE_LABEL, Self::MODULE_LABEL];

    /// The labels that the image lacks.
    pub fn missing_labels(&self) -> Vec<&'static str> {
        let labels = [
            (Self::API_LABEL, &self.api),
            (Self::TYPE_LABEL, &self.provider_type),
            (Self::MODULE_LABEL, &self.module),
        ];
        labels.into_iter().filter(|(_, said)| said.is_empty()).map(|(label, _)| label).collect()
    }
}
