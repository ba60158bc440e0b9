//! What the server's container runs. The user's command and arguments win, each by itself.

use super::{Blueprint, ConfigSource};

/// The start program, which knows how each release of the server takes its configuration.
pub const LAUNCH: &str = include_str!("launch.py");

/// `None` leaves the image's own entrypoint in place.
pub(super) fn command(blueprint: &Blueprint) -> Option<Vec<String>> {
    given(blueprint.overrides().command.as_ref()).or_else(|| match blueprint.config {
        ConfigSource::Default => None,
        ConfigSource::Generated { .. } | ConfigSource::Override { .. } => {
            Some(vec!["python3".into(), "-c".into(), escaped(LAUNCH)])
        }
    })
}

pub(super) fn arguments(blueprint: &Blueprint) -> Option<Vec<String>> {
    given(blueprint.overrides().args.as_ref())
}

/// The kubelet replaces `$(NAME)` in commands and arguments and reads `$$` as `$`.
pub(super) fn escaped(text: &str) -> String {
    text.replace('$', "$$")
}

/// An empty list says nothing.
fn given(words: Option<&Vec<String>>) -> Option<Vec<String>> {
    words.filter(|words| !words.is_empty()).cloned()
}
