//! Content digests as registries write them, and the hashing that checks content against one.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256, Sha512};

/// Why a text is no digest: part of why a reference is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an image reference: {0}")]
pub struct InvalidDigest(pub &'static str);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Algorithm {
    Sha256,
    Sha512,
}

impl Algorithm {
    const fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha512 => "sha512",
        }
    }

    const fn hex_length(self) -> usize {
        match self {
            Self::Sha256 => 64,
            Self::Sha512 => 128,
        }
    }
}

/// `sha256:…` or `sha512:…`, lower case, of the right length.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest {
    algorithm: Algorithm,
    hex: String,
}

impl Digest {
    /// The sha256 of `content`.
    pub fn sha256(content: &[u8]) -> Self {
        let mut verifier = Verifier(Hasher::Sha256(Sha256::new()));
        verifier.update(content);
        verifier.finish()
    }

    /// The hexadecimal part.
    pub fn hex(&self) -> &str {
        &self.hex
    }

    /// Whether `content` is what this digest names.
    pub fn matches(&self, content: &[u8]) -> bool {
        let mut verifier = Verifier::for_digest(self);
        verifier.update(content);
        verifier.finish() == *self
    }
}

impl FromStr for Digest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        let (name, hex) =
            text.split_once(':').ok_or(InvalidDigest("a digest is <algorithm>:<hexadecimal>"))?;
        let algorithm = match name {
            "sha256" => Algorithm::Sha256,
            "sha512" => Algorithm::Sha512,
            _ => return Err(InvalidDigest("only sha256 and sha512 digests are known")),
        };
        if hex.len() != algorithm.hex_length() {
            return Err(InvalidDigest("the digest has the wrong length"));
        }
        if !hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(InvalidDigest("a digest is lower-case hexadecimal"));
        }
        Ok(Self { algorithm, hex: hex.to_owned() })
    }
}

impl TryFrom<String> for Digest {
    type Error = InvalidDigest;

    fn try_from(text: String) -> Result<Self, InvalidDigest> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.algorithm.name(), self.hex)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[derive(Debug)]
enum Hasher {
    Sha256(Sha256),
    Sha512(Sha512),
}

/// Hashes content that arrives piece by piece.
#[derive(Debug)]
pub struct Verifier(Hasher);

impl Verifier {
    /// Hashes with the algorithm of `expected`.
    pub fn for_digest(expected: &Digest) -> Self {
        Self(match expected.algorithm {
            Algorithm::Sha256 => Hasher::Sha256(Sha256::new()),
            Algorithm::Sha512 => Hasher::Sha512(Sha512::new()),
        })
    }

    pub fn update(&mut self, piece: &[u8]) {
        match &mut self.0 {
            Hasher::Sha256(hasher) => hasher.update(piece),
            Hasher::Sha512(hasher) => hasher.update(piece),
        }
    }

    pub fn finish(self) -> Digest {
        match self.0 {
            Hasher::Sha256(hasher) => {
                Digest { algorithm: Algorithm::Sha256, hex: hex(&hasher.finalize()) }
            }
            Hasher::Sha512(hasher) => {
                Digest { algorithm: Algorithm::Sha512, hex: hex(&hasher.finalize()) }
            }
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    use fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn content_is_checked_with_the_digests_own_algorithm() {
        assert_eq!(Digest::sha256(b"").to_string(), EMPTY);
        assert!(EMPTY.parse::<Digest>().unwrap().matches(b""));
        assert!(!EMPTY.parse::<Digest>().unwrap().matches(b"x"));
        let sha512 = "sha512:cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce\
                      47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e";
        assert!(sha512.parse::<Digest>().unwrap().matches(b""));
    }

    #[test]
    fn what_is_no_digest_is_refused() {
        for text in ["", "sha256", "sha256:", "md5:abcd", &EMPTY.to_uppercase(), &EMPTY[..70]] {
            assert!(text.parse::<Digest>().is_err(), "{text}");
        }
    }
}
