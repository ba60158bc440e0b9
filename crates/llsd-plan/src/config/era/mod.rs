//! Which generation of the server a base configuration belongs to. Every release says `version: 2`,
//! so the layout is told from the document's shape, and the provider catalogue from the release.

use serde_json::Value;

use super::catalogue::Catalogue;
use super::substitution::{Form, references};

/// How a configuration is laid out; the names are the releases that share a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layout {
    UpTo0_2_12,
    From0_2_13,
    V0_3,
    V0_4,
    V0_5,
    V0_7,
}

use Layout::{From0_2_13, UpTo0_2_12, V0_3, V0_4, V0_5, V0_7};

impl Layout {
    const ALL: [Self; 6] = [UpTo0_2_12, From0_2_13, V0_3, V0_4, V0_5, V0_7];

    /// The releases whose catalogues belong to the layout, the oldest first.
    fn releases(self) -> &'static [&'static str] {
        match self {
            UpTo0_2_12 => &["0.2.12"],
            From0_2_13 => &["0.2.24"],
            V0_3 => &["0.3.5"],
            V0_4 => &["0.4.7"],
            V0_5 => &["0.5.4", "0.6.1"],
            V0_7 => &["0.7.3"],
        }
    }

    fn named(self) -> &'static str {
        match self {
            UpTo0_2_12 => "up to 0.2.12",
            From0_2_13 => "0.2.13 to 0.2.24",
            V0_3 => "0.3",
            V0_4 => "0.4",
            V0_5 => "0.5 and 0.6",
            V0_7 => "0.7",
        }
    }
}

/// The generation of a server: the layout of its file and the provider types it knows.
#[derive(Clone, Copy, Debug)]
pub struct Era {
    pub layout: Layout,
    pub catalogue: &'static Catalogue,
    /// The image says which release it holds, so what the catalogue lacks does not exist there.
    pub release_known: bool,
}

impl Era {
    /// How messages name the server: `0.7.3`, or `0.5 and 0.6` where only the layout is known.
    pub fn name(&self) -> &'static str {
        if self.release_known { &self.catalogue.release } else { self.layout.named() }
    }

    /// The catalogues that the server may have, the most likely one first.
    pub fn candidates(&self) -> impl Iterator<Item = &'static Catalogue> {
        let others = if self.release_known { &[] } else { self.layout.releases() };
        let chosen = self.catalogue;
        std::iter::once(chosen).chain(
            others
                .iter()
                .filter_map(|release| Catalogue::of(release))
                .filter(|other| other.release != chosen.release),
        )
    }

    /// The name that the API of agents and responses has in this release.
    pub fn agents_api(&self) -> &'static str {
        if self.layout >= V0_7 { "responses" } else { "agents" }
    }

    pub fn has_storage_section(&self) -> bool {
        self.layout >= V0_3
    }

    /// Tools are registered as tool groups; later servers find them by their providers alone.
    pub fn has_tool_groups(&self) -> bool {
        self.layout < V0_7
    }

    pub fn has_workers(&self) -> bool {
        self.layout >= V0_3
    }

    /// The server turns what a variable gives into a number or boolean where it looks like one.
    pub fn coerces_variables(&self) -> bool {
        self.layout >= From0_2_13
    }
}

/// Why a document has no era.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoEra {
    /// It belongs to another server, or to a layout that no supported release reads.
    Foreign(&'static str),
    /// It holds marks of layouts that exclude each other.
    Contradiction(String),
}

/// The era of a document; `release` is what the image says of itself, as far as it does.
pub fn detect(document: &Value, release: Option<&str>) -> Result<Era, NoEra> {
    if let Some(foreign) = foreign(document) {
        return Err(NoEra::Foreign(foreign));
    }
    let marks: Vec<&Mark> = MARKS.iter().filter(|mark| (mark.found)(document)).collect();
    let fits =
        |layout: &Layout| marks.iter().all(|mark| mark.since <= *layout && *layout <= mark.until);
    let possible: Vec<Layout> = Layout::ALL.into_iter().filter(fits).collect();
    let Some(newest) = possible.last() else {
        let list: Vec<&str> = marks.iter().map(|mark| mark.what).collect();
        return Err(NoEra::Contradiction(list.join(", ")));
    };
    let catalogue = release.and_then(catalogue_of);
    let said = catalogue.and_then(|catalogue| {
        possible.iter().find(|layout| layout.releases().contains(&catalogue.release.as_str()))
    });
    // Releases that know `distro_name` ship files with it, so its absence tells an older one.
    let old_name = document.get("image_name").is_some() && document.get("distro_name").is_none();
    let older = possible.iter().rfind(|layout| old_name && **layout <= V0_4);
    let layout = *said.or(older).unwrap_or(newest);
    let newest_release = layout.releases().last().and_then(|release| Catalogue::of(release));
    Ok(Era {
        layout,
        catalogue: catalogue.or(newest_release).unwrap_or(&Catalogue::all()[0]),
        release_known: catalogue.is_some(),
    })
}

/// Whether a release is one whose provider types are known.
pub fn is_known(release: &str) -> bool {
    catalogue_of(release).is_some()
}

/// The catalogue that stands for a release: the one of its minor, and in 0.2 of its layout.
fn catalogue_of(release: &str) -> Option<&'static Catalogue> {
    let mut parts = release.trim_start_matches('v').split(['.', '-', '+']);
    let mut number = || parts.next()?.parse::<u32>().ok();
    let (major, minor, patch) = (number()?, number()?, number());
    let name = match (major, minor, patch) {
        (0, 0 | 1, _) => "0.2.12",
        (0, 2, Some(patch)) if patch <= 12 => "0.2.12",
        (0, 2, _) => "0.2.24",
        (0, 3, _) => "0.3.5",
        (0, 4, _) => "0.4.7",
        (0, 5, _) => "0.5.4",
        (0, 6, _) => "0.6.1",
        (0, 7, _) => "0.7.3",
        _ => return None,
    };
    Catalogue::of(name)
}

/// A trait of a document that only some layouts have.
struct Mark {
    what: &'static str,
    since: Layout,
    until: Layout,
    found: fn(&Value) -> bool,
}

const fn mark(what: &'static str, since: Layout, until: Layout, found: fn(&Value) -> bool) -> Mark {
    Mark { what, since, until, found }
}

#[rustfmt::skip]
const MARKS: [Mark; 22] = [
    mark("`metadata_store`", UpTo0_2_12, From0_2_13, |d| d.get("metadata_store").is_some()),
    mark("`inference_store`", UpTo0_2_12, From0_2_13, |d| d.get("inference_store").is_some()),
    mark("top-level `models`", UpTo0_2_12, From0_2_13, |d| d.get("models").is_some()),
    mark("top-level `shields`", UpTo0_2_12, From0_2_13, |d| d.get("shields").is_some()),
    mark("top-level `tool_groups`", UpTo0_2_12, From0_2_13, |d| d.get("tool_groups").is_some()),
    mark("the API telemetry", UpTo0_2_12, From0_2_13, |d| has_api(d, "telemetry")),
    mark("`${env.X:default}`", UpTo0_2_12, UpTo0_2_12, |d| any_text(d, &old_grammar)),
    mark("`${env.X:=default}`", From0_2_13, V0_7, |d| any_text(d, &new_grammar)),
    mark("a numeric `version`", From0_2_13, V0_7, |d| d.get("version").is_some_and(Value::is_number)),
    mark("`storage`", V0_3, V0_7, |d| d.get("storage").is_some()),
    mark("`registered_resources`", V0_3, V0_7, |d| d.get("registered_resources").is_some()),
    mark("top-level `telemetry`", V0_3, V0_3, |d| d.get("telemetry").is_some()),
    mark("`safety`", V0_4, V0_7, |d| d.get("safety").is_some()),
    mark("`registered_resources.connectors`", V0_4, V0_4, |d| d.pointer("/registered_resources/connectors").is_some()),
    mark("`storage.stores.prompts`", V0_4, V0_7, |d| d.pointer("/storage/stores/prompts").is_some()),
    mark("`base_url` of vLLM or Ollama", V0_4, V0_7, |d| model_server_has(d, "base_url", "url")),
    mark("`url` of vLLM or Ollama", UpTo0_2_12, V0_3, |d| model_server_has(d, "url", "base_url")),
    mark("`distro_name`", V0_5, V0_7, |d| d.get("distro_name").is_some()),
    mark("`connectors`", V0_5, V0_7, |d| d.get("connectors").is_some()),
    mark("the API agents", UpTo0_2_12, V0_5, |d| has_api(d, "agents")),
    mark("the API post_training", UpTo0_2_12, V0_5, |d| has_api(d, "post_training")),
    mark("the API responses", V0_7, V0_7, |d| has_api(d, "responses")),
];

fn foreign(document: &Value) -> Option<&'static str> {
    if is_of_ogx(document) {
        return Some("an OGX server");
    }
    if document.get("routing_table").is_some() {
        return Some("a Llama Stack server of 2024 (`routing_table`)");
    }
    if !document.get("providers").is_some_and(Value::is_object) {
        return Some("no server that is known here (it has no `providers`)");
    }
    None
}

/// OGX kept the layout of 0.7, except for these.
fn is_of_ogx(document: &Value) -> bool {
    const APIS: [&str; 4] = ["messages", "interactions", "skills", "container_runtime"];
    const PLACES: [&str; 7] = [
        "/storage/stores/prompts/table_name",
        "/storage/stores/connectors/table_name",
        "/storage/stores/vector_stores",
        "/server/insecure",
        "/server/tenancy",
        "/server/tls_config",
        "/server/registry_refresh_interval_seconds",
    ];
    APIS.iter().any(|api| has_api(document, api))
        || PLACES.iter().any(|place| document.pointer(place).is_some())
        || any_text(document, &|text| text.contains("/.ogx/"))
}

fn has_api(document: &Value, api: &str) -> bool {
    let listed = document["apis"].as_array().into_iter().flatten().any(|name| name == api);
    listed || document["providers"].get(api).is_some()
}

/// A file that is meant for several releases has both fields, and then neither tells anything.
fn model_server_has(document: &Value, field: &str, other: &str) -> bool {
    let servers = document["providers"]["inference"].as_array().into_iter().flatten();
    servers
        .filter(|entry| {
            matches!(entry["provider_type"].as_str(), Some("remote::vllm" | "remote::ollama"))
        })
        .map(|entry| &entry["config"])
        .any(|config| config.get(field).is_some() && config.get(other).is_none())
}

fn any_text(value: &Value, test: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(string) => test(string),
        Value::Array(items) => items.iter().any(|item| any_text(item, test)),
        Value::Object(fields) => fields.values().any(|field| any_text(field, test)),
        _ => false,
    }
}

fn new_grammar(text: &str) -> bool {
    text.contains("${env.") && (text.contains(":=") || text.contains(":+"))
}

fn old_grammar(text: &str) -> bool {
    !new_grammar(text)
        && references(text).any(|reference| !matches!(reference.form, Form::Required))
}
