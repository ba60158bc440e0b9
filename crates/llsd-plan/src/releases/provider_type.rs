//! One row of the catalogue, as `README.md` explains its fields, and what it holds for one release.

use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::{Map, Value};

use super::number::{Number, Span, Spanned};

/// A row: a provider type in all releases.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(clippy::struct_excessive_bools, reason = "a row of data, not a state")]
pub(super) struct Row {
    since: Option<String>,
    until: Option<String>,
    #[serde(deserialize_with = "words")]
    endpoint: Vec<Spanned>,
    endpoint_form: EndpointForm,
    path: Map<String, Value>,
    needs_endpoint: bool,
    with_endpoint: Map<String, Value>,
    #[serde(deserialize_with = "words")]
    key: Vec<Spanned>,
    #[serde(deserialize_with = "words")]
    region: Vec<Spanned>,
    needs: Vec<Spanned>,
    required: Vec<Spanned>,
    fields: Vec<Spanned>,
    open: bool,
    #[serde(deserialize_with = "spanned_map")]
    fill: Vec<(Spanned, Value)>,
    #[serde(deserialize_with = "words")]
    instead: Vec<Spanned>,
    successor: Option<String>,
    pub(super) elsewhere: Vec<String>,
    pub(super) also: Vec<String>,
    tool: Option<String>,
    deployments: bool,
    asks_model: bool,
    #[serde(deserialize_with = "words")]
    awaits: Vec<Spanned>,
    pull: Option<String>,
    patience: u32,
}

impl Row {
    /// The releases that have the type.
    pub(super) fn span(&self) -> Result<Span, String> {
        let half = |word: &str, release: &Option<String>| {
            release.as_ref().map(|release| format!("{word} {release} ")).unwrap_or_default()
        };
        Span::parse(&(half("since", &self.since) + &half("until", &self.until)))
    }
}

/// What the field that takes `endpoint` must look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndpointForm {
    /// `http://HOST[:PORT][/PATH]`, or https.
    #[default]
    Url,
    /// A host without a port, or the path of a socket.
    Host,
    /// `HOST:PORT`, or a URL of a protocol of its own.
    Address,
}

/// A backend whose models a pod waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Awaited {
    /// The path at which it lists them, without a key.
    pub lists: &'static str,
    /// The command that brings one there.
    pub pull: Option<&'static str>,
    /// How long they are waited for.
    pub seconds: u32,
}

/// What the operator must know of a provider type of one release.
#[derive(Clone, Copy, Debug)]
pub struct ProviderType {
    row: &'static Row,
    release: Number,
}

impl ProviderType {
    pub(super) fn new(row: &'static Row, release: Number) -> Self {
        Self { row, release }
    }

    fn valid_words(self, words: &'static [Spanned]) -> impl Iterator<Item = &'static str> {
        let holds = move |word: &&Spanned| word.span.contains(self.release);
        words.iter().filter(holds).map(|spanned| &*spanned.word)
    }

    /// The field that takes `endpoint`.
    pub fn endpoint(self) -> Option<&'static str> {
        self.valid_words(&self.row.endpoint).next()
    }

    /// What the value of that field must look like.
    pub fn endpoint_form(self) -> EndpointForm {
        self.row.endpoint_form
    }

    /// The path that an endpoint in this field must have.
    pub fn path(self, field: &str) -> Option<&'static str> {
        self.row.path.get(field)?.as_str()
    }

    /// Whether the type is useless without an endpoint, although the server does not require it.
    pub fn needs_endpoint(self) -> bool {
        self.row.needs_endpoint
    }

    /// Fields that an endpoint sets beside its own.
    pub fn with_endpoint(self) -> &'static Map<String, Value> {
        &self.row.with_endpoint
    }

    /// The field that takes `apiKey`.
    pub fn key(self) -> Option<&'static str> {
        self.valid_words(&self.row.key).next()
    }

    /// The field that takes `region`.
    pub fn region(self) -> Option<&'static str> {
        self.valid_words(&self.row.region).next()
    }

    /// APIs that the type cannot do without.
    pub fn needs(self) -> impl Iterator<Item = &'static str> {
        self.valid_words(&self.row.needs)
    }

    /// Fields without which the server refuses it.
    pub fn required(self) -> impl Iterator<Item = &'static str> {
        self.valid_words(&self.row.required)
    }

    /// All fields that the type knows.
    pub fn fields(self) -> impl Iterator<Item = &'static str> {
        self.required().chain(self.valid_words(&self.row.fields))
    }

    pub fn knows(self, field: &str) -> bool {
        self.fields().any(|known| known == field)
    }

    /// Whether the server takes any other field, too.
    pub fn is_open(self) -> bool {
        self.row.open
    }

    /// Fields that are filled in where neither the base nor the resource has them.
    pub fn fill(self) -> impl Iterator<Item = (&'static str, &'static Value)> {
        let holds = move |(field, _): &&(Spanned, Value)| field.span.contains(self.release);
        self.row.fill.iter().filter(holds).map(|(field, value)| (&*field.word, value))
    }

    /// The type that replaces this one, which is deprecated.
    pub fn instead(self) -> Option<&'static str> {
        self.valid_words(&self.row.instead).next()
    }

    /// The type that does its work in releases that no longer have it.
    pub fn successor(self) -> Option<&'static str> {
        self.row.successor.as_deref().or(self.instead())
    }

    /// The tool that it runs: `websearch`, or `mcp` for any server of that protocol.
    pub fn tool(self) -> Option<&'static str> {
        self.row.tool.as_deref()
    }

    /// Whether its models are deployments with names of their own.
    pub fn has_deployments(self) -> bool {
        self.row.deployments
    }

    /// The backend that must have the models of the file before a server of this release starts.
    pub fn awaits(self) -> Option<Awaited> {
        let lists = self.valid_words(&self.row.awaits).next()?;
        Some(Awaited { lists, pull: self.row.pull.as_deref(), seconds: self.row.patience })
    }

    /// Whether its shields ask a model for their decision.
    pub fn asks_model(self) -> bool {
        self.row.asks_model
    }
}

/// One word, or a list of them.
fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Spanned>, D::Error> {
    let list = match Value::deserialize(deserializer)? {
        Value::Array(list) => list,
        one => vec![one],
    };
    list.into_iter().map(|word| serde_json::from_value(word).map_err(D::Error::custom)).collect()
}

fn spanned_map<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<(Spanned, Value)>, D::Error> {
    let map = Map::deserialize(deserializer)?;
    map.into_iter()
        .map(|(key, value)| Ok((Spanned::try_from(key).map_err(D::Error::custom)?, value)))
        .collect()
}
