//! The help for one field as people read it.

use std::fmt::Write;

use super::{FieldBelow, FieldHelp};

/// Texts of the list of fields are cut here; a look at the field itself has all of it.
const WIDEST: usize = 90;

impl FieldHelp {
    /// Lines for people.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let mut line = |word: &str, value: &str| {
            let _ = writeln!(text, "{word:<10}{value}");
        };
        line("field", &self.path);
        let must = if self.required { ", required" } else { "" };
        line("type", &format!("{}{must}", self.kind));
        if !self.values.is_empty() {
            let values: Vec<String> = self.values.iter().map(ToString::to_string).collect();
            line("values", &values.join(", "));
        }
        if let Some(default) = &self.default {
            line("default", &default.to_string());
        }
        line("version", &self.versions());
        if let Some(servers) = &self.servers {
            line("servers", servers);
        }
        if !self.description.is_empty() {
            let _ = write!(text, "\n{}\n", self.description);
        } else if self.fields.is_empty() {
            text.push_str("\nA field of Kubernetes' own; its documentation says what it is for.\n");
        }
        if !self.fields.is_empty() {
            let names = self.fields.iter().map(|below| below.name.chars().count()).max();
            let width = names.unwrap_or_default();
            text.push_str("\nfields\n");
            for below in &self.fields {
                let _ = writeln!(text, "  {:<width$}  {}", below.name, below.summary());
            }
        }
        text
    }

    fn versions(&self) -> String {
        let other = &self.other_version;
        let short = |version: &str| version.rsplit('/').next().unwrap_or_default().to_owned();
        let (own, name) = (short(self.api_version), short(other.api_version));
        match &other.path {
            Some(path) if *path == self.path => format!("{own} and {name}"),
            Some(path) => format!("{own}; {path} in {name}"),
            None => format!("{own} only"),
        }
    }
}

impl FieldBelow {
    fn summary(&self) -> String {
        let must = if self.required { ", required" } else { "" };
        let about = if self.description.is_empty() { "" } else { ": " };
        let text = format!("{}{must}{about}{}", self.kind, self.description);
        if text.chars().count() <= WIDEST {
            return text;
        }
        let cut: String = text.chars().take(WIDEST - 1).collect();
        format!("{}…", cut.trim_end())
    }
}
