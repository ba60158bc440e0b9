//! The forms in which `llsd render` gives its answer.

use std::path::PathBuf;
use std::str::FromStr;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// All objects, as one stream.
    Yaml,
    /// config.yaml alone.
    Config,
    /// Files in a folder.
    Folder(PathBuf),
}

impl FromStr for Output {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match (text, text.strip_prefix("dir=")) {
            ("yaml", _) => Ok(Self::Yaml),
            ("config", _) => Ok(Self::Config),
            (_, Some(folder)) if !folder.is_empty() => Ok(Self::Folder(folder.into())),
            _ => Err("use yaml, config or dir=DIR".to_owned()),
        }
    }
}
