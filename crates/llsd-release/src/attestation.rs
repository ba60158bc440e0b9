//! Signed statements about an image, in the formats that cosign verifies: that the image is the
//! publisher's (simple signing), and what it was made of and from (in-toto, in a DSSE envelope).

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use llsd_image::Digest;
use serde_json::{Value, json};

use crate::attached::Signed;
use crate::signing::SigningKey;
use llsd_image::assembly::Content;
use llsd_registry::attached::SIGNATURE;
use llsd_registry::signature::{SIMPLE_SIGNING, VerifyingKey};

pub const ENVELOPE: &str = "application/vnd.dsse.envelope.v1+json";
const STATEMENT: &str = "application/vnd.in-toto+json";

/// What is said about an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Predicate {
    BillOfMaterials,
    Provenance,
}

impl Predicate {
    /// The type by which verifiers ask for it: `cosign verify-attestation --type …`.
    pub fn uri(self) -> &'static str {
        match self {
            Self::BillOfMaterials => "https://cyclonedx.org/bom",
            Self::Provenance => "https://slsa.dev/provenance/v1",
        }
    }
}

/// The signature of an image, which `repository` was to hold when it was made.
pub(crate) fn signature(image: &Digest, repository: &str, key: &SigningKey) -> Signed {
    let payload = json!({
        "critical": {
            "identity": {"docker-reference": repository},
            "image": {"docker-manifest-digest": image.to_string()},
            "type": "cosign container image signature",
        },
        "optional": null,
    });
    let content = Content::json(SIMPLE_SIGNING, &payload);
    let annotations = json!({SIGNATURE: key.sign(&content.bytes)});
    Signed { content, annotations }
}

/// A statement in its envelope.
pub(crate) fn attestation(
    predicate: Predicate,
    said: &Value,
    image: &Digest,
    repository: &str,
    key: &SigningKey,
) -> Signed {
    let statement = json!({
        "_type": "https://in-toto.io/Statement/v0.1",
        "predicateType": predicate.uri(),
        "subject": [{"name": repository, "digest": {"sha256": image.hex()}}],
        "predicate": said,
    })
    .to_string();
    let signature = key.sign(&signed_bytes(statement.as_bytes()));
    let envelope = json!({
        "payloadType": STATEMENT,
        "payload": BASE64_STANDARD.encode(&statement),
        "signatures": [{"keyid": "", "sig": signature}],
    });
    // The signature stands in the envelope; the empty one is how cosign lists attestations.
    let annotations = json!({SIGNATURE: "", "predicateType": predicate.uri()});
    Signed { content: Content::json(ENVELOPE, &envelope), annotations }
}

/// The predicate that an envelope holds about the image, if its signature is of this key.
pub fn attested(image: &Digest, envelope: &[u8], key: &VerifyingKey) -> Option<(String, Value)> {
    let envelope: Value = serde_json::from_slice(envelope).ok()?;
    if envelope["payloadType"] != STATEMENT {
        return None;
    }
    let payload = BASE64_STANDARD.decode(envelope["payload"].as_str()?).ok()?;
    let message = signed_bytes(&payload);
    let signatures = envelope["signatures"].as_array()?;
    let signed = signatures
        .iter()
        .filter_map(|entry| entry["sig"].as_str())
        .any(|signature| key.verifies(&message, signature));
    let mut statement: Value = serde_json::from_slice(&payload).ok()?;
    let subjects = statement["subject"].as_array()?;
    let of_the_image = subjects.iter().any(|subject| subject["digest"]["sha256"] == image.hex());
    let kind = statement["predicateType"].as_str()?.to_owned();
    (signed && of_the_image).then(|| (kind, statement["predicate"].take()))
}

/// What is signed of a payload, so that it cannot be taken for one of another type.
fn signed_bytes(payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {STATEMENT} {} ", STATEMENT.len(), payload.len());
    [head.as_bytes(), payload].concat()
}
