//! The provider types of each release, as data: `catalogue/<release>.yaml`, one row a type. What
//! the operator knows of a provider stands there and nowhere else.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::document;

/// The provider types of one release.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    /// `0.7.3`, `ogx-1.5.0`.
    pub release: String,
    /// How messages name the release: `0.7.3`, `OGX 1.5.0`.
    #[serde(skip)]
    pub name: String,
    providers: BTreeMap<String, BTreeMap<String, ProviderType>>,
}

/// What the operator must know of a provider type; the head of each file explains the fields.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProviderType {
    pub endpoint: Option<String>,
    pub key: Option<String>,
    pub required: Vec<String>,
    pub fields: Vec<String>,
    pub fill: Map<String, Value>,
    pub needs: Vec<String>,
    pub instead: Option<String>,
}

impl ProviderType {
    pub fn knows(&self, field: &str) -> bool {
        self.known().any(|known| known == field)
    }

    pub fn known(&self) -> impl Iterator<Item = &str> {
        self.required.iter().chain(&self.fields).map(String::as_str)
    }
}

/// All catalogues, the oldest release first, those of OGX after those of llama-stack.
static ALL: LazyLock<Vec<Catalogue>> = LazyLock::new(|| {
    [
        include_str!("catalogue/0.2.12.yaml"),
        include_str!("catalogue/0.2.24.yaml"),
        include_str!("catalogue/0.3.5.yaml"),
        include_str!("catalogue/0.4.7.yaml"),
        include_str!("catalogue/0.5.4.yaml"),
        include_str!("catalogue/0.6.1.yaml"),
        include_str!("catalogue/0.7.3.yaml"),
        include_str!("catalogue/ogx-1.0.4.yaml"),
        include_str!("catalogue/ogx-1.1.3.yaml"),
        include_str!("catalogue/ogx-1.2.5.yaml"),
        include_str!("catalogue/ogx-1.3.1.yaml"),
        include_str!("catalogue/ogx-1.4.1.yaml"),
        include_str!("catalogue/ogx-1.5.0.yaml"),
    ]
    .into_iter()
    .map(|text| {
        let rows = document::read(text).expect("a catalogue is YAML");
        let mut catalogue: Catalogue =
            serde_json::from_value(rows).expect("a catalogue has the fields of its head");
        catalogue.name = catalogue.release.replace("ogx-", "OGX ");
        catalogue
    })
    .collect()
});

impl Catalogue {
    pub fn all() -> &'static [Self] {
        &ALL
    }

    /// The catalogue of the release with this name.
    pub fn of(release: &str) -> Option<&'static Self> {
        ALL.iter().find(|catalogue| catalogue.release == release)
    }

    /// What a field of this type is called, the newest release first; several have changed names.
    pub fn field_names(
        api: &str,
        provider_type: &str,
        of: impl Fn(&'static ProviderType) -> Option<&'static str>,
    ) -> impl Iterator<Item = &'static str> {
        let types = ALL.iter().rev().filter_map(move |catalogue| catalogue.get(api, provider_type));
        types.filter_map(of)
    }

    pub fn has_api(&self, api: &str) -> bool {
        self.providers.contains_key(api)
    }

    pub fn apis(&self) -> impl Iterator<Item = &str> {
        self.providers.keys().map(String::as_str)
    }

    pub fn get(&self, api: &str, provider_type: &str) -> Option<&ProviderType> {
        self.providers.get(api)?.get(provider_type)
    }

    pub fn types(&self, api: &str) -> impl Iterator<Item = (&str, &ProviderType)> {
        self.providers.get(api).into_iter().flatten().map(|(name, known)| (name.as_str(), known))
    }

    /// The full type behind a short name: the remote one where both exist.
    pub fn full_type(&self, api: &str, short: &str) -> Option<&str> {
        let types = self.providers.get(api)?;
        ["remote", "inline"]
            .into_iter()
            .find_map(|kind| types.get_key_value(&format!("{kind}::{short}")))
            .map(|(name, _)| name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_catalogue_is_read_and_a_short_name_prefers_the_remote_type() {
        assert_eq!(Catalogue::all().len(), 13);
        let newest = Catalogue::of("0.7.3").unwrap();
        assert_eq!(newest.full_type("vector_io", "milvus"), Some("remote::milvus"));
        assert_eq!(newest.full_type("vector_io", "faiss"), Some("inline::faiss"));
        assert_eq!(newest.full_type("inference", "nonesuch"), None);
        assert!(newest.get("inference", "remote::vllm").unwrap().knows("base_url"));
    }

    #[test]
    fn what_is_filled_in_and_where_endpoints_and_keys_go_are_fields_of_the_type() {
        for catalogue in Catalogue::all() {
            for api in catalogue.apis() {
                for (name, known) in catalogue.types(api) {
                    let named = known.endpoint.iter().chain(&known.key).chain(known.fill.keys());
                    for field in named {
                        assert!(known.knows(field), "{} {api} {name} {field}", catalogue.release);
                    }
                }
            }
        }
    }
}
