//! Reads back from a registry what is attached to an image, and says whether a key signed it.

use llsd_image::{Digest, Error, Reference};
use llsd_registry::attached::{Attached, tag};
use llsd_registry::signature::VerifyingKey;
use serde_json::Value;

use crate::attestation::{ENVELOPE, attested};

/// The largest attestation that is read; a bill of materials of 400 crates has 300 KB.
pub const LIMIT: u64 = 16 << 20;

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
            verified.is_signed |= key.signed(digest, &layer);
            if layer.media_type == ENVELOPE {
                verified.attestations.extend(attested(digest, &layer.content, key));
            }
        }
    }
    Ok(verified)
}
