//! What the page asks.

use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) enum Question {
    /// Which distributions and releases there are.
    Catalogue,
    /// Everything about a text.
    Render(Request),
    /// The text with another distribution.
    Distribution { text: String, name: String },
}

/// The resources, and what the flags of the command line say.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Request {
    pub(crate) text: String,
    /// As the file of `--facts`.
    pub(crate) facts: Option<String>,
    /// As the file of `--base`: the configuration inside the image.
    pub(crate) base: Option<String>,
    /// As `--release`. Without a base the starter's of that release is taken.
    pub(crate) release: Option<String>,
}
