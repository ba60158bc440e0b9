//! Bytes as text, as kubectl decodes files.

use crate::fault::Fault;
use crate::position::Position;

/// The longest file that is read: larger than any list of resources the API server would take.
pub const MAX_BYTES: usize = 16 << 20;

/// UTF-8 with or without a byte order mark, or UTF-16 with one, as Windows shells write it.
pub fn decode(bytes: Vec<u8>) -> Result<String, Fault> {
    let utf16 = |units: Vec<u16>| {
        String::from_utf16(&units).map_err(|_| {
            Fault::invalid(Position::START, "not valid UTF-16", "save the file as UTF-8")
        })
    };
    match bytes.as_slice() {
        bytes if bytes.len() > MAX_BYTES => Err(Fault::too_long(MAX_BYTES)),
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
        Fault::invalid(Position::end_of(&text), message, "save the file as UTF-8")
    })
}
