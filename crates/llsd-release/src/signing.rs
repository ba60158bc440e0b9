//! Signatures with a key pair on the curve P-256, as `openssl genpkey` makes it and cosign reads it.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, UnparsedPublicKey,
};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use llsd_pem::blocks;
use thiserror::Error;

/// A point on the curve, uncompressed, is the last part of a public key's DER.
const POINT: usize = 65;

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum KeyProblem {
    #[error("there is no `{0}` in it")]
    NoBlock(&'static str),
    #[error(
        "it is no key of the curve P-256; `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256` makes one"
    )]
    OtherKey,
}

/// The key that signs. Not printable.
pub struct SigningKey(EcdsaKeyPair);

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SigningKey")
    }
}

impl SigningKey {
    /// From PKCS #8 in PEM.
    pub fn parse(pem: &str) -> Result<Self, KeyProblem> {
        let der = block(pem, "PRIVATE KEY")?;
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &der)
            .map(Self)
            .map_err(|_| KeyProblem::OtherKey)
    }

    /// In base64, as it is stored.
    pub fn sign(&self, message: &[u8]) -> String {
        let signature = self.0.sign(&SystemRandom::new(), message);
        BASE64_STANDARD.encode(signature.expect("the system has random numbers").as_ref())
    }
}

/// The key that verifies.
#[derive(Clone, Debug)]
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

    /// Whether `signature`, in base64, was made over `message` with the other half of this key.
    pub fn verifies(&self, message: &[u8], signature: &str) -> bool {
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &self.0);
        BASE64_STANDARD
            .decode(signature)
            .is_ok_and(|signature| key.verify(message, &signature).is_ok())
    }
}

/// What stands before the point in a public key of P-256: two names and the lengths around them.
const P256_HEAD: &[u8] = &[
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

fn block(pem: &str, label: &'static str) -> Result<Vec<u8>, KeyProblem> {
    let found = blocks(pem).flatten().find(|block| block.label == label);
    found.and_then(|block| block.content).ok_or(KeyProblem::NoBlock(label))
}
