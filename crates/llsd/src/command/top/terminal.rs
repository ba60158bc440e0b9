//! The terminal: taken whole, given back however the program ends, and read key by key.

use std::fmt::Write as _;
use std::io::{self, Read, Write};

use rustix::termios::{self, OptionalActions, Termios};
use tokio::sync::mpsc;

use super::view::{Key, Page};
use crate::command::printable::printable;

/// The other screen, without a cursor; and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
const RESET: &str = "\x1b[0m";
/// What is behind a line, and what is below it.
const CLEAR_LINE: &str = "\x1b[K";
const CLEAR_BELOW: &str = "\x1b[J";

/// The terminal while the program has it; dropping gives it back.
#[derive(Debug)]
pub(super) struct Taken {
    before: Termios,
}

impl Taken {
    /// Keys are read one by one and not shown.
    pub(super) fn take() -> io::Result<Self> {
        let before = termios::tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        termios::tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        let taken = Self { before };
        written(ENTER)?;
        Ok(taken)
    }

    /// The page, in one write. Each line clears what was behind it, so nothing flickers.
    pub(super) fn show(page: &Page, colours: bool) -> io::Result<()> {
        written(&drawn(page, colours))
    }

    pub(super) fn size() -> (usize, usize) {
        let known = termios::tcgetwinsize(io::stdout()).ok().filter(|size| size.ws_col > 0);
        known.map_or((80, 24), |size| (size.ws_col.into(), size.ws_row.into()))
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        // There is nowhere left to report that the terminal itself fails.
        let _ = written(LEAVE);
        let _ = termios::tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

fn written(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

fn drawn(page: &Page, colours: bool) -> String {
    let mut text = String::new();
    for (at, line) in page.lines.iter().enumerate() {
        let style = if page.selected == Some(at) || at == 1 {
            "\x1b[7m"
        } else {
            colour(line).filter(|_| colours && at > 1).unwrap_or_default()
        };
        let line = printable(line, &[]);
        let _ = write!(text, "\x1b[{};1H{style}{line}{RESET}{CLEAR_LINE}", at + 1);
    }
    text + CLEAR_BELOW
}

fn colour(line: &str) -> Option<&'static str> {
    let has = |word: &str| line.split_whitespace().any(|found| found == word);
    if has("Failed") {
        Some("\x1b[31m")
    } else if has("Pending") || has("Initializing") || has("Terminating") {
        Some("\x1b[33m")
    } else {
        None
    }
}

/// Keys as they are pressed. Ends with the terminal.
pub(super) fn keys() -> mpsc::Receiver<Key> {
    let (send, receive) = mpsc::channel(16);
    // A thread of its own: reading a terminal blocks, and ends with the process.
    std::thread::spawn(move || {
        let mut bytes = [0; 64];
        while let Ok(read @ 1..) = io::stdin().read(&mut bytes) {
            for key in pressed(&bytes[..read]) {
                if send.blocking_send(key).is_err() {
                    return;
                }
            }
        }
    });
    receive
}

/// What a terminal sends for keys, as far as they mean something here. A key comes in one piece.
fn pressed(mut bytes: &[u8]) -> Vec<Key> {
    let mut keys = Vec::new();
    while let Some((first, rest)) = bytes.split_first() {
        let (key, rest) = match (first, rest) {
            (0x1b, [b'[' | b'O', arrow, rest @ ..]) => match arrow {
                b'A' => (Some(Key::Up), rest),
                b'B' => (Some(Key::Down), rest),
                // Others have numbers, up to a letter or a tilde.
                _ => {
                    let all = &bytes[2..];
                    let end =
                        all.iter().position(|byte| byte.is_ascii_alphabetic() || *byte == b'~');
                    (None, end.map_or(&[][..], |end| &all[end + 1..]))
                }
            },
            (0x1b, []) => (Some(Key::Escape), rest),
            (0x1b, _) => (None, &rest[1..]),
            (3, _) => (Some(Key::Interrupt), rest),
            (b'\r' | b'\n', _) => (Some(Key::Enter), rest),
            (8 | 0x7f, _) => (Some(Key::Backspace), rest),
            (..0x20, _) => (None, rest),
            _ => character(bytes),
        };
        keys.extend(key);
        bytes = rest;
    }
    keys
}

/// One character, of as many bytes as it has.
fn character(bytes: &[u8]) -> (Option<Key>, &[u8]) {
    let valid = bytes.utf8_chunks().next().map(|chunk| chunk.valid()).unwrap_or_default();
    match valid.chars().next() {
        Some(found) => (Some(Key::Character(found)), &bytes[found.len_utf8()..]),
        None => (None, &bytes[1..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_terminals_send_them() {
        let typed = "a\u{1b}[A\u{1b}OB\u{1b}[5~ä\r\u{7f}\u{3}\u{1}\u{1b}";
        let expected = [
            Key::Character('a'),
            Key::Up,
            Key::Down,
            Key::Character('ä'),
            Key::Enter,
            Key::Backspace,
            Key::Interrupt,
            Key::Escape,
        ];
        assert_eq!(pressed(typed.as_bytes()), expected);
        assert_eq!(pressed(&[0xff, b'q']), [Key::Character('q')]);
    }

    #[test]
    fn a_page_is_drawn_from_its_corner_and_clears_what_was_there() {
        let lines = ["head", "TITLES", "a Failed", "b Ready"].map(str::to_owned).to_vec();
        let text = drawn(&Page { lines, selected: Some(3) }, true);
        assert!(text.starts_with("\x1b[1;1Hhead\x1b[0m\x1b[K"), "{text:?}");
        assert!(text.contains("\x1b[31ma Failed") && text.contains("\x1b[7mb Ready"), "{text:?}");
        assert!(text.ends_with(CLEAR_BELOW));
    }
}
