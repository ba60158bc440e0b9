//! What an external provider's image says of itself, read out of a registry: in its labels, or in the
//! package file in its layers.

use llsd_plan::facts::ExternalProviderFacts;
use llsd_registry::{Image, Wanted};

/// Where an image's package file lies.
const PACKAGE_FILE: &str = "/lls-provider/lls-provider-spec.yaml";
/// A package file is a page of text.
const MAX_FILE: u64 = 64 << 10;

/// What is looked for in a provider's image.
pub const WANTED: Wanted =
    Wanted::File { path: PACKAGE_FILE, limit: MAX_FILE, unless: ExternalProviderFacts::LABELS };

/// What was found there.
pub fn provided(image: &Image) -> ExternalProviderFacts {
    let label = |name: &str| image.labels.get(name).cloned().unwrap_or_default();
    let (package_file, unusable) = match &image.file {
        Ok(text) => (text.clone(), None),
        Err(error) => (None, Some(error.to_string())),
    };
    ExternalProviderFacts {
        digest: Some(image.digest.to_string()),
        api: label(ExternalProviderFacts::API_LABEL),
        provider_type: label(ExternalProviderFacts::TYPE_LABEL),
        module: label(ExternalProviderFacts::MODULE_LABEL),
        config_class: image.labels.get(ExternalProviderFacts::CONFIG_CLASS_LABEL).cloned(),
        package_file,
        differing_platforms: image.differing_platforms.clone(),
        unusable,
        ..ExternalProviderFacts::default()
    }
}

#[cfg(test)]
mod tests {
    use llsd_provider::layout::{FILE, FOLDER};

    use super::*;

    #[test]
    fn the_package_file_lies_where_the_contract_says() {
        assert_eq!(PACKAGE_FILE, format!("{FOLDER}/{FILE}"));
    }
}
