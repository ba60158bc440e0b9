//! What the server's container runs. The user's command and arguments win, each by itself.

use crate::objects::blueprint::Blueprint;
use crate::objects::start_program;
use crate::server::paths::START_PROGRAM;

/// `None` leaves the image's own entrypoint in place.
pub(super) fn command(blueprint: &Blueprint) -> Option<Vec<String>> {
    if !start_program::is_used(blueprint) {
        return given(blueprint.overrides().command.as_ref());
    }
    Some(vec!["python3".into(), START_PROGRAM.into()])
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
