//! `releases.yaml` read: one [`Release`] for each release, its traits as fields.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::number::{Number, OGX, ServerFamily, Span, Spanned};
use crate::values::connection::Form;
use llsd_yaml::document;

/// A release of the server and in what it differs from others beyond its provider types;
/// `releases.yaml` explains the traits.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "traits of a release, not a state")]
pub struct Release {
    /// `0.7.3`, `ogx-1.5.0`.
    #[serde(skip)]
    pub name: String,
    #[serde(skip)]
    pub number: Number,
    #[serde(skip)]
    pub server: ServerFamily,
    /// How messages name it: `0.7.3`, `OGX 1.5.0`.
    #[serde(skip)]
    pub title: String,
    #[serde(skip)]
    pub layout: String,
    pub agents_api: String,
    pub has_storage_section: bool,
    prompts: Option<StoreKind>,
    connectors: Option<StoreKind>,
    pub state_folder: String,
    pub(super) postgres: Form,
    pub default_sign: String,
    pub(super) name_key: String,
    pub has_tool_groups: bool,
    pub takes_external_packages: bool,
    pub has_workers: bool,
    pub reads_tls_from_its_file: bool,
    pub must_allow_plain_http: bool,
    pub coerces_variables: bool,
    pub has_telemetry_section: bool,
    pub knows_rerank_models: bool,
    pub has_aliases: bool,
    pub has_provider_all: bool,
    pub lists_over_aliases: bool,
    pub serves_nothing_of_an_empty_list: bool,
    pub knows_unowned: bool,
    pub knows_regex: bool,
    pub escapes_dots: bool,
    pub takes_bare_callers: bool,
    pub guards_ids: bool,
    pub keeps_signing_keys: bool,
    pub keeps_vector_stores_in_sql: bool,
    pub reads_otlp_variables: bool,
    pub serves_metrics: bool,
    pub installs_until: String,
    has_api_package: bool,
    needs_first_mcp: bool,
}

/// The kinds of state that a server keeps in its storage section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoreKind {
    Kv,
    Sql,
}

impl Release {
    /// Its minor version as messages name it: `0.7`, `OGX 1.5`.
    pub fn minor_version(&self) -> &str {
        self.title.rsplit_once('.').map_or(&self.title, |(minor, _)| minor)
    }

    /// What to install for one of its versions, in the words of pip: the server, and what it does not say
    /// itself.
    pub fn requirements(&self, version: &str) -> Vec<String> {
        let package = match self.server {
            ServerFamily::LlamaStack => "llama-stack",
            ServerFamily::Ogx => "ogx",
        };
        let mut requirements = vec![format!("{package}=={version}")];
        if self.has_api_package {
            requirements.push(format!("{package}-api=={version}"));
        }
        if self.needs_first_mcp {
            requirements.push("mcp<2".to_owned());
        }
        requirements
    }

    /// The version of its package: `1.5.0` of `ogx-1.5.0`.
    pub fn version(&self) -> &str {
        self.name.trim_start_matches("ogx-")
    }

    /// What the server keeps a store in that not every layout has, or keeps alike.
    pub fn store(&self, name: &str) -> Option<StoreKind> {
        match name {
            "prompts" => self.prompts,
            "connectors" => self.connectors,
            _ => None,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    releases: Map<String, Value>,
    traits: Map<String, Value>,
}

/// The releases that have a trait, or words with the releases in which the trait is that.
enum Trait {
    Flag(Vec<Span>),
    Words(Vec<Spanned>),
}

impl Trait {
    fn parse(written: &Value) -> Result<Self, String> {
        let texts = match written {
            Value::Array(list) => list.as_slice(),
            one => std::slice::from_ref(one),
        };
        let texts = || texts.iter().map(|text| text.as_str().unwrap_or_default());
        let is_span = |text: &str| text.starts_with("since ") || text.starts_with("until ");
        Ok(if texts().all(is_span) {
            Self::Flag(texts().map(Span::parse).collect::<Result<_, _>>()?)
        } else {
            let words = texts().map(|text| Spanned::try_from(text.to_owned()));
            Self::Words(words.collect::<Result<_, _>>()?)
        })
    }

    fn value_in(&self, release: Number) -> Value {
        match self {
            Self::Flag(spans) => spans.iter().any(|span| span.contains(release)).into(),
            Self::Words(words) => {
                let word = words.iter().find(|word| word.span.contains(release));
                word.map(|word| &*word.word).into()
            }
        }
    }
}

/// The releases in the order of the file.
pub(super) fn parse(text: &str) -> Result<Vec<Release>, String> {
    let read = document::read(text).map_err(|error| error.message)?;
    let table: Table = serde_json::from_value(read).map_err(|error| error.to_string())?;
    let traits: Vec<(String, Trait)> = table
        .traits
        .into_iter()
        .map(|(name, written)| Ok((name, Trait::parse(&written)?)))
        .collect::<Result<_, String>>()?;
    table.releases.into_iter().map(|(name, layout)| release(name, &layout, &traits)).collect()
}

fn release(name: String, layout: &Value, traits: &[(String, Trait)]) -> Result<Release, String> {
    let number = Number::try_from(name.as_str())?;
    let layout = layout.as_str().ok_or_else(|| format!("the layout of {name} is no text"))?;
    let fields = traits.iter().map(|(field, it)| (field.clone(), it.value_in(number))).collect();
    let traits: Release = serde_json::from_value(Value::Object(fields))
        .map_err(|error| format!("{name}: {error}"))?;
    Ok(Release {
        title: name.replace(&format!("{OGX}-"), "OGX "),
        name,
        number,
        server: number.server,
        layout: layout.to_owned(),
        ..traits
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHIPPED: &str = include_str!("releases.yaml");

    #[test]
    fn releases_are_in_order_and_those_of_one_layout_have_the_same_traits() {
        let releases = parse(SHIPPED).unwrap();
        assert!(releases.is_sorted_by(|left, right| left.number < right.number));
        let table: Table = serde_json::from_value(document::read(SHIPPED).unwrap()).unwrap();
        for (name, written) in table.traits.iter().filter(|(name, _)| *name != "knows_regex") {
            let it = Trait::parse(written).unwrap();
            for pair in releases.windows(2).filter(|pair| pair[0].layout == pair[1].layout) {
                assert_eq!(it.value_in(pair[0].number), it.value_in(pair[1].number), "{name}");
            }
        }
    }

    #[test]
    fn a_trait_that_is_missing_or_unknown_is_an_error_that_names_it() {
        let misspelt = SHIPPED.replace("  has_workers:", "  has_wokers:");
        assert!(parse(&misspelt).unwrap_err().contains("has_wokers"));
        let lines = SHIPPED.lines().filter(|line| !line.starts_with("  has_workers:"));
        let missing = lines.collect::<Vec<_>>().join("\n");
        assert!(parse(&missing).unwrap_err().contains("has_workers"));
    }
}
