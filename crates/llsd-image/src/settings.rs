//! Reads the operator's own configuration documents: bounded, and with every mistake reported at
//! once, each with the path where it stands. Values are never repeated in a message.

use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};

/// A ConfigMap holds at most this much.
const MAX_DOCUMENT_BYTES: usize = 1024 * 1024;

/// One mistake in a configuration document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ConfigProblem {
    /// Where it stands, as in `mirrors[0].source`; empty for the document itself.
    pub path: String,
    pub message: String,
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

/// Reads one YAML or JSON document. The parser's own message may quote the document, which can
/// hold a plugin's environment, so only the place is kept.
pub fn document(text: &str) -> Result<Value, ConfigProblem> {
    let problem = |message: String| ConfigProblem { path: String::new(), message };
    if text.len() > MAX_DOCUMENT_BYTES {
        return Err(problem(format!("the document is larger than {MAX_DOCUMENT_BYTES} bytes")));
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_documents: 1,
            max_depth: 32,
            max_nodes: 50_000,
            max_aliases: 100,
            max_anchors: 100,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 10_000 },
        strict_booleans: true,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        problem(match error.location() {
            Some(place) => {
                format!(
                    "not one valid YAML document: line {}, column {}",
                    place.line(),
                    place.column()
                )
            }
            None => "not one valid YAML document".to_owned(),
        })
    })
}

/// Collects mistakes while a document is taken apart.
#[derive(Debug, Default)]
pub struct Problems(pub Vec<ConfigProblem>);

impl Problems {
    pub fn at(&mut self, path: &str, message: impl Into<String>) {
        self.0.push(ConfigProblem { path: path.to_owned(), message: message.into() });
    }

    /// An object whose keys are all among `known`; what is not known is reported, never ignored.
    pub fn object<'v>(
        &mut self,
        path: &str,
        value: &'v Value,
        known: &[&str],
    ) -> Option<&'v Map<String, Value>> {
        let Value::Object(object) = value else {
            self.at(path, "must be an object");
            return None;
        };
        for key in object.keys().filter(|key| !known.contains(&key.as_str())) {
            self.at(&below(path, key), format!("unknown field; known are {}", known.join(", ")));
        }
        Some(object)
    }

    /// The items of a list with their paths; an absent or null list is empty.
    pub fn items<'v>(&mut self, path: &str, value: Option<&'v Value>) -> Vec<(String, &'v Value)> {
        match value {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(items)) => {
                items.iter().enumerate().map(|(at, item)| (format!("{path}[{at}]"), item)).collect()
            }
            Some(_) => {
                self.at(path, "must be a list");
                Vec::new()
            }
        }
    }

    /// A string, if there is one.
    pub fn text<'v>(&mut self, path: &str, value: Option<&'v Value>) -> Option<&'v str> {
        match value {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text),
            Some(_) => {
                self.at(path, "must be a string");
                None
            }
        }
    }

    /// A string that must be there.
    pub fn required<'v>(&mut self, path: &str, value: Option<&'v Value>) -> Option<&'v str> {
        match value {
            None | Some(Value::Null) => {
                self.at(path, "is required");
                None
            }
            value => self.text(path, value),
        }
    }

    /// The strings of a list with their paths.
    pub fn texts<'v>(&mut self, path: &str, value: Option<&'v Value>) -> Vec<(String, &'v str)> {
        let items = self.items(path, value);
        items
            .into_iter()
            .filter_map(|(path, item)| {
                let text = self.required(&path, Some(item))?;
                Some((path, text))
            })
            .collect()
    }

    /// The strings of a list, each read by `parse`; its message is reported at the string's path.
    pub fn parsed<T>(
        &mut self,
        path: &str,
        value: Option<&Value>,
        parse: impl Fn(&str) -> Result<T, &'static str>,
    ) -> Vec<T> {
        let mut found = Vec::new();
        for (path, text) in self.texts(path, value) {
            match parse(text) {
                Ok(item) => found.push(item),
                Err(message) => self.at(&path, message),
            }
        }
        found
    }
}

pub fn below(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// A duration as Kubernetes writes it: `1h30m`, `12h`, `1.5s`, `0`.
pub fn duration(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(number_end);
        let unit_end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, next) = after.split_at(unit_end);
        let seconds = match unit {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" | "μs" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        let amount = Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()?;
        total = total.checked_add(amount)?;
        rest = next;
    }
    (!text.is_empty()).then_some(total)
}
