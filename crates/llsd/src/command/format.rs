//! In which form a command prints what it found.

use clap::ValueEnum;
use serde_json::Value;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum OutputFormat {
    /// Lines for people
    #[default]
    Text,
    Json,
    Yaml,
}

impl OutputFormat {
    /// What was found, or the lines for people.
    pub(super) fn print(self, found: &Value, lines: impl FnOnce() -> String) -> String {
        match self {
            Self::Text => lines(),
            Self::Json => format!("{found:#}\n"),
            Self::Yaml => llsd_install::yaml(found),
        }
    }
}
