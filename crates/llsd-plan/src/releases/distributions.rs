//! The distributions that a resource can name: their images, and the base configurations that are
//! part of the operator. Both are files of this folder, for maintainers to read and update.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::Value;

use llsd_yaml::document::{self, Node, Origin};

/// A distribution of `images.yaml`, whose head explains the fields.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Distribution {
    pub image: String,
    pub release: String,
    /// Its base configuration below `bases/`, without the ending.
    #[serde(rename = "base")]
    pub file: String,
    /// The distribution of llama-stack that it stands for in OGX.
    pub succeeds: Option<String>,
    /// Variables that the one before reads under another name: the old name, then the new one.
    #[serde(default)]
    pub renamed: BTreeMap<String, String>,
    #[serde(skip)]
    text: Cow<'static, str>,
    #[serde(skip)]
    read: OnceLock<(Value, Node)>,
}

pub(super) fn parse(
    images: &str,
    mut bases: BTreeMap<&str, Cow<'static, str>>,
) -> Result<BTreeMap<String, Distribution>, String> {
    let images = document::read(images).map_err(|error| error.message)?;
    let mut distributions: BTreeMap<String, Distribution> =
        serde_json::from_value(images).map_err(|error| format!("images: {error}"))?;
    for (name, distribution) in &mut distributions {
        let text = bases.remove(distribution.file.as_str());
        distribution.text = text.ok_or_else(|| format!("{name} has no base that is its alone"))?;
    }
    match bases.keys().next() {
        Some(file) => Err(format!("no distribution has the base {file}")),
        None => Ok(distributions),
    }
}

impl Distribution {
    /// The base configuration that the operator itself has of the distribution's image.
    pub fn base(&self) -> &str {
        &self.text
    }

    /// The base configuration as the server reads it, which is done once.
    pub(crate) fn document(&self) -> (&Value, &Node) {
        let (value, node) = self.read.get_or_init(|| {
            let value = document::read(&self.text).expect("an embedded configuration is YAML");
            let node = Node::from_value(value.clone(), &Origin::Base);
            (value, node)
        });
        (value, node)
    }
}
