//! What a chart is made of, and the files that it comes to.

use serde_json::json;

use super::readme;
use super::value::{Value, schema, values};
use crate::file::yaml;
use crate::named_text::NamedText;
use crate::names::OLDEST_KUBERNETES;

/// What a chart is made of.
pub(super) struct Chart {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    /// What its README says before the values.
    pub(super) about: &'static str,
    pub(super) values: Vec<Value>,
    /// File names below `templates/`, and their texts.
    pub(super) templates: Vec<(&'static str, String)>,
}

impl Chart {
    pub(super) fn files(&self) -> Vec<NamedText> {
        let version = env!("CARGO_PKG_VERSION");
        let about = json!({
            "apiVersion": "v2",
            "name": self.name,
            "description": self.description,
            "type": "application",
            "version": version,
            "appVersion": version,
            "kubeVersion": format!(">={OLDEST_KUBERNETES}.0-0"),
        });
        let mut files = vec![
            self.file("Chart.yaml", yaml(&about)),
            self.file("README.md", readme::text(self.name, self.about, &self.values)),
            self.file("values.yaml", values(&self.values)),
            self.file("values.schema.json", format!("{:#}\n", schema(&self.values))),
        ];
        for (name, text) in &self.templates {
            files.push(self.file(&format!("templates/{name}"), text.clone()));
        }
        files
    }

    fn file(&self, name: &str, text: String) -> NamedText {
        NamedText::new(format!("{}/{name}", self.name), text)
    }
}
