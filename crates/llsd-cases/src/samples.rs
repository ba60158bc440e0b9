//! The samples of `deploy/samples`, and facts under which they can be planned offline.

use llsd_api::conversion::{Version, convert};
use llsd_plan::facts::{BaseFacts, BaseSource, ExternalProviderFacts, Facts};
use llsd_plan::releases::Distribution;
use llsd_yaml::document;
use serde_json::Value;

use crate::files::{text, yaml_files};

/// Every sample by its file's name, as v1alpha2.
pub fn samples() -> Vec<(String, Value)> {
    let files = yaml_files("deploy/samples").into_iter();
    files
        .map(|path| {
            let resource = document::read(&text(&path)).expect("YAML");
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (name, convert(resource, Version::V1Alpha2))
        })
        .collect()
}

/// What a registry would answer for the images that a sample names.
pub fn facts_of(sample: &Value) -> Facts {
    let mut facts = Facts::default();
    if sample.pointer("/spec/distribution/image").is_some() {
        let text = Distribution::all()["starter"].base().to_owned();
        facts.image.base = Some(BaseFacts { text, source: BaseSource::Labels, found_in: None });
    }
    let external = ExternalProviderFacts {
        api: "inference".to_owned(),
        provider_type: "remote::custom".to_owned(),
        module: "custom_provider".to_owned(),
        ..ExternalProviderFacts::default()
    };
    facts.external_providers.insert("registry.example.com/custom:v1".to_owned(), external);
    facts
}
