//! Where text comes from: files and stdin, bounded in size, decoded as kubectl decodes them.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::fault::Fault;
use super::tree::Position;

/// Larger than any list of resources the API server would take.
pub(super) const MAX_BYTES: u64 = 16 << 20;

/// A file's name as the user wrote it, and its text unless that cannot be read as text.
#[derive(Clone, Debug)]
pub struct Source {
    pub name: String,
    pub text: Result<String, Fault>,
}

impl Source {
    /// Reads the file `path`, or stdin for `-`. Only a file that cannot be opened or read is an
    /// error here; one with the wrong content is a finding like any other.
    pub fn open(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") {
            return Self::read("-", io::stdin().lock());
        }
        let name = path.display().to_string();
        Self::read(&name, File::open(path)?)
    }

    pub fn read(name: &str, stream: impl Read) -> io::Result<Self> {
        let mut bytes = Vec::new();
        stream.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
        let too_long = u64::try_from(bytes.len()).is_ok_and(|length| length > MAX_BYTES);
        let text = if too_long { Err(Fault::too_long()) } else { decode(bytes) };
        Ok(Self { name: name.to_owned(), text })
    }
}

/// UTF-8 with or without a byte order mark, or UTF-16 with one, as Windows shells write it.
fn decode(bytes: Vec<u8>) -> Result<String, Fault> {
    let utf16 = |units: Vec<u16>| {
        String::from_utf16(&units).map_err(|_| {
            Fault::invalid(Position::START, "not valid UTF-16", "save the file as UTF-8")
        })
    };
    match bytes.as_slice() {
        [0xff, 0xfe, rest @ ..] => utf16(units(rest, u16::from_le_bytes)),
        [0xfe, 0xff, rest @ ..] => utf16(units(rest, u16::from_be_bytes)),
        [0xef, 0xbb, 0xbf, rest @ ..] => utf8(rest.to_vec()),
        _ => utf8(bytes),
    }
}

fn units(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Vec<u16> {
    bytes.chunks(2).map(|pair| unit([pair[0], pair.get(1).copied().unwrap_or(0xd8)])).collect()
}

fn utf8(bytes: Vec<u8>) -> Result<String, Fault> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(&error.as_bytes()[..valid]).into_owned();
        let byte = error.as_bytes()[valid];
        let message = format!("not UTF-8 text: byte 0x{byte:02x}");
        Fault::invalid(end_of(&text), message, "save the file as UTF-8")
    })
}

/// The place right behind `text`.
pub(super) fn end_of(text: &str) -> Position {
    let last_line = text.rsplit('\n').next().unwrap_or_default();
    Position { line: text.matches('\n').count() + 1, column: last_line.chars().count() + 1 }
}
