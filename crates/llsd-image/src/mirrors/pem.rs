//! A first look at a PEM text, so that a mistake in the configuration is found when it is read and
//! not at the first pull.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Whether the text holds certificates and nothing that should not be there.
pub(super) fn check(text: &str) -> Result<(), &'static str> {
    let mut body: Option<String> = None;
    let mut certificates = 0;
    for line in text.lines().map(str::trim) {
        match (line, &mut body) {
            ("-----BEGIN CERTIFICATE-----", None) => body = Some(String::new()),
            ("-----END CERTIFICATE-----", Some(encoded)) => {
                // Every certificate is one ASN.1 sequence.
                let is_der = |der: Vec<u8>| der.first() == Some(&0x30);
                if !STANDARD.decode(&*encoded).is_ok_and(is_der) {
                    return Err("a certificate is not base64 of DER");
                }
                certificates += 1;
                body = None;
            }
            (line, _) if line.contains("PRIVATE KEY-----") => {
                return Err("holds a private key; only certificates belong here");
            }
            (line, _) if line.starts_with("-----") => {
                return Err("only CERTIFICATE blocks are allowed");
            }
            (line, Some(encoded)) => encoded.push_str(line),
            // Text between the blocks is a comment.
            (_, None) => {}
        }
    }
    match (body, certificates) {
        (Some(_), _) => Err("a CERTIFICATE block is not closed"),
        (None, 0) => Err("holds no PEM certificate"),
        (None, _) => Ok(()),
    }
}
