//! Signatures of images in cosign's format, made with a key on the curve P-256: a public key, and whether
//! it signed an image.

use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use llsd_pem::blocks;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::Digest;
use crate::attached::Attached;

/// The type of the layer that says which image was signed.
pub const SIMPLE_SIGNING: &str = "application/vnd.dev.cosign.simplesigning.v1+json";

/// A point on the curve, uncompressed, is the last part of a public key's DER.
const POINT: usize = 65;

/// What stands before the point in a public key of P-256: two names and the lengths around them.
const P256_HEAD: &[u8] = &[
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// Why a text is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyProblem {
    #[error("there is no `{0}` in it")]
    NoBlock(&'static str),
    #[error(
        "it is no key of the curve P-256; `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256` makes one"
    )]
    OtherKey,
}

/// The key that verifies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyingKey(Vec<u8>);

impl VerifyingKey {
    /// From a public key in PEM.
    pub fn parse(pem: &str) -> Result<Self, KeyProblem> {
        let der = block(pem, "PUBLIC KEY")?;
        let at = der.len().checked_sub(POINT).ok_or(KeyProblem::OtherKey)?;
        let (head, point) = der.split_at(at);
        if head != P256_HEAD || point[0] != 4 {
            return Err(KeyProblem::OtherKey);
        }
        Ok(Self(point.to_vec()))
    }

    /// Stands for the key.
    pub fn fingerprint(&self) -> String {
        let hash = Sha256::digest(&self.0);
        BASE64_STANDARD.encode(&hash[..16])
    }

    /// Whether `signature`, in base64, was made over `message` with the other half of this key.
    pub fn verifies(&self, message: &[u8], signature: &str) -> bool {
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &self.0);
        BASE64_STANDARD
            .decode(signature)
            .is_ok_and(|signature| key.verify(message, &signature).is_ok())
    }

    /// Whether what is attached is this key's signature of the image of this digest.
    pub fn signed(&self, image: &Digest, attached: &Attached) -> bool {
        if attached.media_type != SIMPLE_SIGNING {
            return false;
        }
        let said: Value = serde_json::from_slice(&attached.content).unwrap_or_default();
        let names = &said["critical"]["image"]["docker-manifest-digest"];
        *names == image.to_string() && self.verifies(&attached.content, &attached.signature)
    }
}

/// The content of the block of a PEM text with this label.
pub fn block(pem: &str, label: &'static str) -> Result<Vec<u8>, KeyProblem> {
    let found = blocks(pem).flatten().find(|block| block.label == label);
    found.and_then(|block| block.content).ok_or(KeyProblem::NoBlock(label))
}
