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
    if is_wanted(&io::stdout()) { painted(&printable(&text, &[]), of) } else { text }
}

/// The text for stderr: what is wrong, and what is worth a remark.
pub(super) fn for_stderr(text: String) -> String {
    if is_wanted(&io::stderr()) { painted(&printable(&text, &SEQUENCES), finding) } else { text }
}

fn is_wanted(stream: &impl IsTerminal) -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let plain = std::env::var_os("TERM").is_none_or(|terminal| terminal == "dumb");
    !refused && !plain && stream.is_terminal()
}

/// Errors and findings, `FILE:LINE:COLUMN: …`; a remedy below them is as it is.
fn finding(line: &str) -> Option<Colour> {
    if line.starts_with("error: ") {
        return Some(Colour::Red);
    }
    if line.starts_with("warning: ") {
        return Some(Colour::Yellow);
    }
    let (place, said) = line.split_once(": ")?;
    let mut numbers = place.rsplit(':');
    let is_number = |part: Option<&str>| part.is_some_and(|part| part.parse::<usize>().is_ok());
    if !(is_number(numbers.next()) && is_number(numbers.next())) {
        return None;
    }
    Some(if said.starts_with("warning: ") { Colour::Yellow } else { Colour::Red })
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
    fn what_is_wrong_is_red_and_a_remark_is_yellow() {
        for (line, colour) in [
            ("error: no such file", Some(Colour::Red)),
            ("warning: old", Some(Colour::Yellow)),
            ("stack.yaml:12:11: spec.x: wrong", Some(Colour::Red)),
            ("stack.yaml:1:13: warning: apiVersion: old", Some(Colour::Yellow)),
            ("    → choose another id", None),
            ("wrote out: 12", None),
            ("1 resource, 1 problem, 0 warnings", None),
        ] {
            assert_eq!(finding(line), colour, "{line}");
        }
    }

    #[test]
    fn a_line_has_its_colour_and_no_other_has() {
        let of = |line: &str| line.starts_with('+').then_some(Colour::Green);
        assert_eq!(painted("a\n+b\n", of), "a\n\x1b[32m+b\x1b[0m\n");
    }
}
