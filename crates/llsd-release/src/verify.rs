//! Reads back from a registry what is attached to an image, and says whether a key signed it.

use llsd_image::{Digest, Error, Reference};
use llsd_registry::{Manifest, Repository};
use serde_json::Value;

use crate::attached::{SIGNATURE, tag};
use crate::attestation::{ENVELOPE, SIMPLE_SIGNING, attested, is_signature_of};
use crate::signing::VerifyingKey;

/// The largest attestation that is read; a bill of materials of 400 crates has 300 KB.
const LIMIT: u64 = 16 << 20;

/// What a key vouches for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verified {
    pub is_signed: bool,
    /// Type and content of each attestation.
    pub attestations: Vec<(String, Value)>,
}

/// What `key` signed about the image of this digest; `read` gives the layers under a tag.
pub async fn verify(
    digest: &Digest,
    reference: &Reference,
    key: &VerifyingKey,
    read: impl AsyncFn(&Reference) -> Result<Vec<Attached>, Error>,
) -> Result<Verified, Error> {
    let mut verified = Verified::default();
    for suffix in ["sig", "att"] {
        let at: Reference = format!("{}:{}", reference.name(), tag(digest, suffix)).parse()?;
        let layers = match read(&at).await {
            Err(Error::NotFound { .. }) => continue,
            layers => layers?,
        };
        for layer in layers {
            match layer.media_type.as_str() {
                SIMPLE_SIGNING => {
                    verified.is_signed |=
                        is_signature_of(digest, &layer.content, &layer.signature, key);
                }
                ENVELOPE => {
                    verified.attestations.extend(attested(digest, &layer.content, key));
                }
                _ => {}
            }
        }
    }
    Ok(verified)
}

/// A layer of what is attached.
#[derive(Clone, Debug)]
pub struct Attached {
    pub media_type: String,
    pub signature: String,
    pub content: Vec<u8>,
}

/// The layers of the manifest that a repository's reference names.
pub async fn attached(repository: Repository<'_>) -> Result<Vec<Attached>, Error> {
    let (_, content) = repository.manifest().await?;
    let Manifest::Image(manifest) = Manifest::parse(&content, "what is attached")? else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for layer in manifest.layers() {
        let digest = llsd_image::manifest::digest_of(layer, "what is attached")?;
        let signature = layer.annotations().as_ref().and_then(|all| all.get(SIGNATURE));
        found.push(Attached {
            media_type: layer.media_type().to_string(),
            signature: signature.cloned().unwrap_or_default(),
            content: repository.blob(&digest, LIMIT).await?.to_vec(),
        });
    }
    Ok(found)
}
