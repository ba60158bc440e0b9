//! The hash by which contents are compared: in names, annotations and the status.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// The sha256 of a text, in hexadecimal.
pub fn hex(text: &str) -> String {
    Sha256::digest(text).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
