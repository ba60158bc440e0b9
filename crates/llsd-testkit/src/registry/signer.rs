//! Signs a test's images as cosign does: a layer under a tag made of the image's digest says which image it is,
//! and an annotation holds the signature.

use anyhow::Context;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rcgen::KeyPair;
use serde_json::{Value, json};

use super::image::digest;
use super::server::RegistryServer;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// A key pair on the curve P-256.
#[derive(Debug)]
pub struct ImageSigner(KeyPair);

impl ImageSigner {
    pub fn generate() -> anyhow::Result<Self> {
        Ok(Self(KeyPair::generate()?))
    }

    /// The public key in PEM, as `cosign.pub` holds it.
    pub fn public_key(&self) -> String {
        self.0.public_key_pem()
    }

    fn sign(&self, message: &[u8]) -> anyhow::Result<String> {
        let der = self.0.serialize_der();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &der).ok();
        let signature = key.context("no key of P-256")?.sign(&SystemRandom::new(), message)?;
        Ok(BASE64_STANDARD.encode(signature.as_ref()))
    }
}

impl RegistryServer {
    /// Attaches to the image of this digest the statement that `says` is signed.
    pub async fn sign(
        &self,
        repository: &str,
        image: &str,
        says: &str,
        signer: &ImageSigner,
    ) -> anyhow::Result<()> {
        let statement = json!({
            "critical": {
                "identity": {"docker-reference": format!("{}/{repository}", self.host())},
                "image": {"docker-manifest-digest": says},
                "type": "cosign container image signature",
            },
            "optional": null,
        });
        let (statement, config) = (statement.to_string().into_bytes(), b"{}".to_vec());
        let descriptor = |media_type: &str, content: &[u8]| -> Value {
            json!({"mediaType": media_type, "size": content.len(), "digest": digest(content)})
        };
        let mut layer = descriptor("application/vnd.dev.cosign.simplesigning.v1+json", &statement);
        let signature = signer.sign(&statement)?;
        layer["annotations"] = json!({"dev.cosignproject.cosign/signature": signature});
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST, "layers": [layer],
            "config": descriptor("application/vnd.oci.image.config.v1+json", &config),
        });
        self.push_blob(repository, config).await?;
        self.push_blob(repository, statement).await?;
        let tag = format!("{}.sig", image.replace(':', "-"));
        self.push_manifest(repository, &tag, MANIFEST, manifest.to_string().into_bytes()).await?;
        Ok(())
    }
}
