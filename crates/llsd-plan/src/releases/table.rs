//! `table.md` read: one [`Release`] for each row, its traits as fields.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::number::{Number, OGX, ServerFamily};
use crate::values::connection::Form;

/// A release of the server and in what it differs from others beyond its provider types; the head
/// of `table.md` explains the fields.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "columns of a table, not a state")]
pub struct Release {
    /// `0.7.3`, `ogx-1.5.0`.
    #[serde(rename = "release")]
    pub name: String,
    pub server: ServerFamily,
    pub layout: String,
    #[serde(rename = "agents")]
    pub agents_api: String,
    #[serde(rename = "storage")]
    pub has_storage_section: bool,
    prompts: Option<StoreKind>,
    connectors: Option<StoreKind>,
    #[serde(rename = "state")]
    pub state_folder: String,
    pub(super) postgres: Form,
    #[serde(rename = "default")]
    pub default_sign: String,
    #[serde(rename = "name")]
    pub(super) name_key: String,
    #[serde(rename = "groups")]
    pub has_tool_groups: bool,
    #[serde(rename = "packages")]
    pub takes_external_packages: bool,
    #[serde(rename = "workers")]
    pub has_workers: bool,
    tls: NamesCertificate,
    #[serde(rename = "insecure")]
    pub must_allow_plain_http: bool,
    #[serde(rename = "coerces")]
    pub coerces_variables: bool,
    #[serde(rename = "telemetry")]
    pub has_telemetry_section: bool,
    #[serde(rename = "rerank")]
    pub knows_rerank_models: bool,
    #[serde(rename = "aliases")]
    pub has_aliases: bool,
    #[serde(rename = "all")]
    pub has_provider_all: bool,
    #[serde(rename = "lists")]
    pub lists_over_aliases: bool,
    #[serde(rename = "empty")]
    empty_list: EmptyList,
    #[serde(rename = "unowned")]
    pub knows_unowned: bool,
    #[serde(rename = "regex")]
    pub knows_regex: bool,
    #[serde(rename = "escapes")]
    pub escapes_dots: bool,
    #[serde(rename = "bare")]
    pub takes_bare_callers: bool,
    #[serde(rename = "ids")]
    pub guards_ids: bool,
    #[serde(rename = "vectors")]
    pub keeps_vector_stores_in_sql: bool,
    #[serde(rename = "otlp")]
    pub reads_otlp_variables: bool,
    #[serde(rename = "metrics")]
    pub serves_metrics: bool,
    #[serde(skip)]
    pub number: Number,
    /// How messages name it: `0.7.3`, `OGX 1.5.0`.
    #[serde(skip)]
    pub title: String,
}

/// The kinds of state that a server keeps in its storage section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoreKind {
    Kv,
    Sql,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum EmptyList {
    All,
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum NamesCertificate {
    Flags,
    File,
}

impl Release {
    /// Whether the server finds its certificate only where its file names it.
    pub fn reads_tls_from_its_file(&self) -> bool {
        self.tls == NamesCertificate::File
    }

    /// What the server keeps a store in that not every layout has, or keeps alike.
    pub fn store(&self, name: &str) -> Option<StoreKind> {
        match name {
            "prompts" => self.prompts,
            "connectors" => self.connectors,
            _ => None,
        }
    }

    /// An empty list of APIs serves none; in other layouts it serves all that have providers.
    pub fn serves_nothing_of_an_empty_list(&self) -> bool {
        self.empty_list == EmptyList::None
    }
}

/// The rows of a table in Markdown, whose heads are the names of the fields.
pub(super) fn parse(text: &str) -> Result<Vec<Release>, String> {
    let mut lines = text.lines().filter(|line| line.starts_with('|')).map(cells);
    let heads = lines.next().ok_or("there is no table")?;
    lines.skip(1).map(|cells| row(&heads, &cells)).collect()
}

fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

fn row(heads: &[&str], cells: &[&str]) -> Result<Release, String> {
    let fields: Map<String, Value> =
        heads.iter().zip(cells).map(|(head, cell)| ((*head).to_owned(), value(cell))).collect();
    let mut release: Release = serde_json::from_value(Value::Object(fields))
        .map_err(|error| format!("{}: {error}", cells.join(" | ")))?;
    release.number = Number::try_from(release.name.as_str())?;
    release.title = release.name.replace(&format!("{OGX}-"), "OGX ");
    Ok(release)
}

fn value(cell: &str) -> Value {
    match cell {
        "yes" => true.into(),
        "no" => false.into(),
        "–" => Value::Null,
        text => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_order_and_those_of_one_layout_have_the_same_traits() {
        let rows = parse(include_str!("table.md")).unwrap();
        assert!(rows.is_sorted_by(|left, right| left.number < right.number));
        assert!(rows.iter().all(|row| row.number.server == row.server));
        let lines: Vec<Vec<&str>> = include_str!("table.md")
            .lines()
            .filter(|line| line.starts_with("| ") && !line.starts_with("| release"))
            .map(cells)
            .collect();
        assert_eq!(lines.len(), rows.len());
        let heads = include_str!("table.md").lines().find(|line| line.starts_with('|')).unwrap();
        let of_layout = |line: &[&str]| -> Vec<String> {
            let traits = cells(heads).into_iter().zip(line).skip(1);
            traits
                .filter(|(head, _)| *head != "regex")
                .map(|(_, cell)| (*cell).to_owned())
                .collect()
        };
        for neighbours in lines.windows(2).filter(|lines| lines[0][2] == lines[1][2]) {
            assert_eq!(of_layout(&neighbours[0]), of_layout(&neighbours[1]));
        }
    }

    #[test]
    fn a_row_that_lacks_a_trait_is_an_error_that_names_it() {
        let table = include_str!("table.md").replace(" workers ", " wokers ");
        assert!(parse(&table).unwrap_err().contains("wokers"));
    }
}
