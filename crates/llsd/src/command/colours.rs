//! Colours of texts for people: on terminals alone, and never with `NO_COLOR`.

use std::io::{self, IsTerminal};

use super::printable::printable;

const RESET: &str = "\x1b[0m";
/// Everything that a painted text has beside what it shows.
pub(super) const SEQUENCES: [&str; 4] =
    [Colour::Red.sequence(), Colour::Green.sequence(), Colour::Yellow.sequence(), RESET];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Colour {
    Red,
    Green,
    Yellow,
}

impl Colour {
    const fn sequence(self) -> &'static str {
        match self {
            Self::Red => "\x1b[31m",
            Self::Green => "\x1b[32m",
            Self::Yellow => "\x1b[33m",
        }
    }
}

/// The text for stdout, with each line in the colour that `of` says.
pub(super) fn for_stdout(text: String, of: impl Fn(&str) -> Option<Colour>) -> String {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let plain = std::env::var_os("TERM").is_none_or(|terminal| terminal == "dumb");
    if refused || plain || !io::stdout().is_terminal() {
        return text;
    }
    painted(&printable(&text, &[]), of)
}

fn painted(text: &str, of: impl Fn(&str) -> Option<Colour>) -> String {
    let line = |line: &str| match of(line) {
        Some(colour) => format!("{}{line}{RESET}\n", colour.sequence()),
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_colour_and_no_other_has() {
        let of = |line: &str| line.starts_with('+').then_some(Colour::Green);
        assert_eq!(painted("a\n+b\n", of), "a\n\x1b[32m+b\x1b[0m\n");
    }
}
