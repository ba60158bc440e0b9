//! What a terminal only shows: texts of servers, registries and other people, without what would move the
//! cursor, set a title or turn the direction of writing.

use std::iter::Peekable;
use std::str::CharIndices;

/// The text without control characters, but for line breaks and tabs. Those of `kept` stay: they
/// are ours.
pub(super) fn printable(text: &str, kept: &[&str]) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let ours = kept.iter().find(|sequence| text[at..].starts_with(**sequence));
        if let Some(sequence) = ours {
            plain.push_str(sequence);
            while characters.next_if(|(next, _)| *next < at + sequence.len()).is_some() {}
        } else if matches!(c, '\x1b' | '\u{9b}') {
            skip_sequence(c, &mut characters);
        } else if matches!(c, '\n' | '\t')
            || text[at..].starts_with("\r\n")
            || !(c.is_control() || turns_direction(c))
        {
            plain.push(c);
        }
    }
    plain
}

/// ECMA-48: `CSI` with parameters and a final character, or a string up to its terminator.
fn skip_sequence(first: char, rest: &mut Peekable<CharIndices>) {
    let csi = first == '\u{9b}' || rest.next_if(|(_, c)| *c == '[').is_some();
    if csi {
        while rest.next_if(|(_, c)| matches!(c, ' '..='?')).is_some() {}
        rest.next_if(|(_, c)| matches!(c, '@'..='~'));
    } else if rest.next_if(|(_, c)| matches!(c, ']' | 'P' | 'X' | '^' | '_')).is_some() {
        while rest.next_if(|(_, c)| !matches!(c, '\x07' | '\x1b' | '\n')).is_some() {}
        if rest.next_if(|(_, c)| *c == '\x1b').is_some() {
            rest.next_if(|(_, c)| *c == '\\');
        }
    }
}

fn turns_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_taken_out() {
        for (text, shown) in [
            ("a\tb\nc ü\r\n", "a\tb\nc ü\r\n"),
            ("\x1b[2J\x1b[31mred\x1b[0m", "red"),
            ("\x1b]0;a title\x07after", "after"),
            ("\x1b]8;;http://evil\x1b\\link", "link"),
            ("\u{9b}31mred", "red"),
            ("ready\rnot ready\x08\x7f", "readynot ready"),
            ("\u{202e}reversed", "reversed"),
            ("ends in \x1b", "ends in "),
            ("a title without an end \x1b]0;\nnext", "a title without an end \nnext"),
        ] {
            assert_eq!(printable(text, &[]), shown, "{text:?}");
        }
    }

    #[test]
    fn our_own_colours_stay() {
        let text = "\x1b[32mgreen\x1b[0m \x1b[5mblinking";
        assert_eq!(printable(text, &["\x1b[32m", "\x1b[0m"]), "\x1b[32mgreen\x1b[0m blinking");
    }
}
