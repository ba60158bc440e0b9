//! Signatures with a key pair on the curve P-256, as `openssl genpkey` makes it and cosign reads it.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use llsd_registry::signature::{KeyProblem, block};

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
