//! The provider types of each release, as data: `catalogue/<release>.yaml`, one row a type. What
//! the operator knows of a provider stands there and nowhere else.

use std::collections::BTreeMap;
use std::sync::OnceLock;

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

/// All catalogues by release, the oldest first, those of OGX after those of llama-stack.
const FILES: [(&str, &str); 13] = [
    ("0.2.12", include_str!("catalogue/0.2.12.yaml")),
    ("0.2.24", include_str!("catalogue/0.2.24.yaml")),
    ("0.3.5", include_str!("catalogue/0.3.5.yaml")),
    ("0.4.7", include_str!("catalogue/0.4.7.yaml")),
    ("0.5.4", include_str!("catalogue/0.5.4.yaml")),
    ("0.6.1", include_str!("catalogue/0.6.1.yaml")),
    ("0.7.3", include_str!("catalogue/0.7.3.yaml")),
    ("ogx-1.0.4", include_str!("catalogue/ogx-1.0.4.yaml")),
    ("ogx-1.1.3", include_str!("catalogue/ogx-1.1.3.yaml")),
    ("ogx-1.2.5", include_str!("catalogue/ogx-1.2.5.yaml")),
    ("ogx-1.3.1", include_str!("catalogue/ogx-1.3.1.yaml")),
    ("ogx-1.4.1", include_str!("catalogue/ogx-1.4.1.yaml")),
    ("ogx-1.5.0", include_str!("catalogue/ogx-1.5.0.yaml")),
];

/// Each is read when it is first needed: few releases run in one cluster.
static READ: [OnceLock<Catalogue>; FILES.len()] = [const { OnceLock::new() }; FILES.len()];

fn read(position: usize) -> &'static Catalogue {
    READ[position].get_or_init(|| {
        let rows = document::read(FILES[position].1).expect("a catalogue is YAML");
        let mut catalogue: Catalogue =
            serde_json::from_value(rows).expect("a catalogue has the fields of its head");
        catalogue.name = catalogue.release.replace("ogx-", "OGX ");
        catalogue
    })
}

impl Catalogue {
    pub fn all() -> impl DoubleEndedIterator<Item = &'static Self> + ExactSizeIterator {
        (0..FILES.len()).map(read)
    }

    /// The catalogue of the release with this name.
    pub fn of(release: &str) -> Option<&'static Self> {
        FILES.iter().position(|(known, _)| *known == release).map(read)
    }

    /// What a field of this type is called, the newest release first; several have changed names.
    pub fn field_names(
        api: &str,
        provider_type: &str,
        of: impl Fn(&'static ProviderType) -> Option<&'static str>,
    ) -> impl Iterator<Item = &'static str> {
        let types =
            Self::all().rev().filter_map(move |catalogue| catalogue.get(api, provider_type));
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
        let releases: Vec<&str> = Catalogue::all().map(|read| read.release.as_str()).collect();
        assert_eq!(releases, FILES.map(|(release, _)| release));
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
