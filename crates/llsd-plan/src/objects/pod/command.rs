//! What the server's container runs. The user's command and arguments win, each by itself.

use std::sync::LazyLock;

use crate::objects::blueprint::{Blueprint, ConfigSource};
use crate::releases::Server;

/// The start program, which knows how each release of the server takes its configuration.
pub const LAUNCH: &str = include_str!("launch.py");

/// The same as a command has it.
static IN_COMMAND: LazyLock<String> = LazyLock::new(|| escaped(LAUNCH));

/// The start program in the command of a server's container, where it is another than this operator's.
pub fn other_start_program<'a>(command: &[&'a str]) -> Option<&'a str> {
    match command {
        ["python3", "-c", program] if **program != **IN_COMMAND => Some(program),
        _ => None,
    }
}

/// `None` leaves the image's own entrypoint in place.
pub(super) fn command(blueprint: &Blueprint) -> Option<Vec<String>> {
    given(blueprint.overrides().command.as_ref()).or_else(|| match blueprint.config {
        // The entrypoint of OGX's images ends with success when the server does not start.
        ConfigSource::Default
            if blueprint.server == Server::LlamaStack && !blueprint.listens_otherwise() =>
        {
            None
        }
        ConfigSource::Default | ConfigSource::Generated { .. } | ConfigSource::Override { .. } => {
            let running = blueprint.facts.running.start_program.as_ref();
            let program = running.unwrap_or_else(|| &IN_COMMAND).clone();
            Some(vec!["python3".into(), "-c".into(), program])
        }
    })
}

pub(super) fn arguments(blueprint: &Blueprint) -> Option<Vec<String>> {
    given(blueprint.overrides().args.as_ref())
}

/// The kubelet replaces `$(NAME)` in commands and arguments and reads `$$` as `$`. Other dollar
/// signs are left as they are, by it and here, so that programs stay readable.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        escaped.push(c);
        if c == '$' && matches!(rest.peek(), Some('$' | '(')) {
            escaped.push(c);
        }
    }
    escaped
}

/// An empty list says nothing.
fn given(words: Option<&Vec<String>>) -> Option<Vec<String>> {
    words.filter(|words| !words.is_empty()).cloned()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("costs 5$", "costs 5$")]
    #[case("${env.X}", "${env.X}")]
    #[case("$(HOME)", "$$(HOME)")]
    #[case("$$", "$$$")]
    #[case("$$(HOME)", "$$$$(HOME)")]
    fn what_the_kubelet_would_expand_reaches_the_program_as_written(
        #[case] text: &str,
        #[case] expected: &str,
    ) {
        assert_eq!(escaped(text), expected);
    }
}
