//! Content digests as registries write them, and the hashing that checks content against one.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256, Sha512};

use crate::InvalidReference;

/// `sha256:…` or `sha512:…`, lower case, of the right length.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

impl Digest {
    /// The sha256 of `content`.
    pub fn sha256(content: &[u8]) -> Self {
        named("sha256", &Sha256::digest(content))
    }

    /// The hexadecimal part.
    pub fn hex(&self) -> &str {
        let (_, hex) = self.0.split_once(':').expect("checked when it was read");
        hex
    }

    /// Whether `content` is what this digest names.
    pub fn matches(&self, content: &[u8]) -> bool {
        let mut verifier = Verifier::for_digest(self);
        verifier.update(content);
        verifier.finish() == *self
    }
}

impl FromStr for Digest {
    type Err = InvalidReference;

    fn from_str(text: &str) -> Result<Self, InvalidReference> {
        let (name, hex) = text
            .split_once(':')
            .ok_or(InvalidReference("a digest is <algorithm>:<hexadecimal>"))?;
        let length = match name {
            "sha256" => 64,
            "sha512" => 128,
            _ => return Err(InvalidReference("only sha256 and sha512 digests are known")),
        };
        if hex.len() != length {
            return Err(InvalidReference("the digest has the wrong length"));
        }
        if !hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(InvalidReference("a digest is lower-case hexadecimal"));
        }
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for Digest {
    type Error = InvalidReference;

    fn try_from(text: String) -> Result<Self, InvalidReference> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Hashes content that arrives piece by piece.
#[derive(Debug)]
pub enum Verifier {
    Sha256(Sha256),
    Sha512(Sha512),
}

impl Verifier {
    /// Hashes with the algorithm of `expected`.
    pub fn for_digest(expected: &Digest) -> Self {
        if expected.0.starts_with("sha512:") {
            Self::Sha512(Sha512::new())
        } else {
            Self::Sha256(Sha256::new())
        }
    }

    pub fn update(&mut self, piece: &[u8]) {
        match self {
            Self::Sha256(hasher) => hasher.update(piece),
            Self::Sha512(hasher) => hasher.update(piece),
        }
    }

    pub fn finish(self) -> Digest {
        match self {
            Self::Sha256(hasher) => named("sha256", &hasher.finalize()),
            Self::Sha512(hasher) => named("sha512", &hasher.finalize()),
        }
    }
}

fn named(algorithm: &str, hash: &[u8]) -> Digest {
    let hex: Vec<String> = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    Digest(format!("{algorithm}:{}", hex.concat()))
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
