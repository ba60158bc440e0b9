//! Certificates out of PEM text. A file that a server reads at start must not be half right, so
//! the outer shape of each certificate is checked; what is in it is for the server to judge.
//!
//! The reader of `rustls-pki-types` does not do: it adds a block without an end to the next one, passes
//! over labels that it does not know, and does not see blocks that are indented.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

const BEGIN: &str = "-----BEGIN ";
const DASHES: &str = "-----";
/// The label of a block that holds a certificate.
pub const CERTIFICATE: &str = "CERTIFICATE";

/// What stands between a line that begins a block and the one that ends it.
#[derive(Debug, PartialEq, Eq)]
pub struct Block<'a> {
    pub label: &'a str,
    /// `None` where it is not base64.
    pub content: Option<Vec<u8>>,
}

/// Why a line that begins with dashes belongs to no block.
#[derive(Debug, PartialEq, Eq)]
pub enum Fault<'a> {
    /// The block with this label has no end.
    Unclosed(&'a str),
    /// It begins nothing.
    Stray,
}

/// Why a text holds no usable certificates; the first has the number 1.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PemError {
    #[error("certificate {0} has no `-----END {1}-----`")]
    Unclosed(usize, String),
    #[error("certificate {0} is not in base64")]
    NotBase64(usize),
    #[error("certificate {0} is not an X.509 certificate")]
    NotACertificate(usize),
}

/// The blocks of a text in their order. Text between them is a comment.
pub fn blocks(text: &str) -> impl Iterator<Item = Result<Block<'_>, Fault<'_>>> {
    let mut lines = text.lines().map(str::trim);
    std::iter::from_fn(move || {
        let first = lines.find(|line| line.starts_with(DASHES))?;
        let label = first.strip_prefix(BEGIN).and_then(|line| line.strip_suffix(DASHES));
        let Some(label) = label else { return Some(Err(Fault::Stray)) };
        let end = format!("-----END {label}-----");
        let mut body = String::new();
        for line in &mut lines {
            if line == end {
                return Some(Ok(Block { label, content: STANDARD.decode(body).ok() }));
            }
            if line.starts_with(DASHES) {
                break;
            }
            body.push_str(line);
        }
        Some(Err(Fault::Unclosed(label)))
    })
}

/// The certificates of a text in DER, in their order. Blocks of other kinds (a private key!) are left
/// out.
pub fn certificates(text: &str) -> Result<Vec<Vec<u8>>, PemError> {
    let mut found = Vec::new();
    for block in blocks(text) {
        let number = found.len() + 1;
        match block {
            Ok(Block { label: CERTIFICATE, content }) => {
                let der = content.ok_or(PemError::NotBase64(number))?;
                if !is_certificate(&der) {
                    return Err(PemError::NotACertificate(number));
                }
                found.push(der);
            }
            Ok(_) | Err(Fault::Stray) => {}
            Err(Fault::Unclosed(label)) => {
                return Err(PemError::Unclosed(number, label.to_owned()));
            }
        }
    }
    Ok(found)
}

/// The certificate as PEM, in lines of 64 characters.
pub fn written(der: &[u8]) -> String {
    let body = STANDARD.encode(der);
    let mut text = format!("{BEGIN}{CERTIFICATE}{DASHES}\n");
    let mut rest = body.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(64));
        text.push_str(line);
        text.push('\n');
        rest = after;
    }
    text.push_str("-----END CERTIFICATE-----\n");
    text
}

const SEQUENCE: u8 = 0x30;
const BIT_STRING: u8 = 0x03;

/// A sequence of the certificate's contents, the algorithm and the signature, and nothing after.
fn is_certificate(der: &[u8]) -> bool {
    let parts = || {
        let (inside, after) = element(der, SEQUENCE)?;
        let (_, rest) = element(inside, SEQUENCE)?;
        let (_, rest) = element(rest, SEQUENCE)?;
        let (_, rest) = element(rest, BIT_STRING)?;
        Some(after.is_empty() && rest.is_empty())
    };
    parts() == Some(true)
}

/// The contents of the first DER element, if it has this tag, and what comes after it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&first, rest) = der.split_first()?;
    let (&length, rest) = rest.split_first()?;
    let (length, rest) = match length {
        0..=0x7f => (usize::from(length), rest),
        // Up to four bytes of length; DER knows no open end (0x80).
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(length & 0x7f))?;
            let length = bytes.iter().fold(0_u64, |sum, byte| (sum << 8) | u64::from(*byte));
            (usize::try_from(length).ok()?, rest)
        }
        _ => return None,
    };
    (first == tag).then(|| rest.split_at_checked(length)).flatten()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// Sequence, sequence, bit string: the outer shape of a certificate.
    const SMALLEST: [u8; 9] = [0x30, 7, 0x30, 0, 0x30, 0, 0x03, 1, 0];

    fn block(kind: &str, body: &str) -> String {
        format!("-----BEGIN {kind}-----\n{body}\n-----END {kind}-----\n")
    }

    #[test]
    fn certificates_come_out_of_comments_keys_and_carriage_returns() {
        let certificate = written(&SMALLEST);
        let text = format!(
            "# Our root\r\n{}\n{}garbage\n{certificate}",
            certificate.replace('\n', "\r\n"),
            block("PRIVATE KEY", "c2VjcmV0"),
        );
        assert_eq!(certificates(&text), Ok(vec![SMALLEST.to_vec(), SMALLEST.to_vec()]));
        assert_eq!(certificates(" \n\t\n"), Ok(vec![]));
    }

    #[test]
    fn what_is_written_is_read_again_whatever_its_length() {
        for length in [0_u8, 40, 100, 127] {
            let mut der = vec![0x30, length + 6, 0x30, length];
            der.extend(vec![7; usize::from(length)]);
            der.extend([0x30, 0, 0x03, 0]);
            if length + 6 > 0x7f {
                der.splice(1..2, [0x81, length + 6]);
            }
            let text = written(&der);
            assert!(text.lines().all(|line| line.len() <= 64), "{text}");
            assert_eq!(certificates(&text), Ok(vec![der]));
        }
    }

    #[rstest]
    #[case(block("CERTIFICATE", "*"), "certificate 1 is not in base64")]
    #[case(block("CERTIFICATE", "bm8="), "certificate 1 is not an X.509 certificate")]
    #[case(block("CERTIFICATE", ""), "certificate 1 is not an X.509 certificate")]
    #[case("-----BEGIN CERTIFICATE-----\nAAAA".into(), "certificate 1 has no `-----END CERTIFICATE-----`")]
    #[case(written(&SMALLEST) + &block("CERTIFICATE", "MAA="), "certificate 2 is not an X.509 certificate")]
    fn what_is_no_certificate_is_named(#[case] text: String, #[case] message: &str) {
        assert_eq!(certificates(&text).unwrap_err().to_string(), message);
    }

    #[rstest]
    #[case(&[0x30])]
    #[case(&[0x30, 0x80])]
    #[case(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff])]
    #[case(&[0x30, 7, 0x30, 0, 0x30, 0, 0x03, 1, 0, 0])]
    fn a_length_that_lies_is_no_certificate(#[case] der: &[u8]) {
        assert!(!is_certificate(der));
    }
}
