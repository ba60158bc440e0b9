//! Attaches to an image in a registry what is signed about it.

use llsd_image::{Digest, Error, Reference};
use llsd_registry::Repository;
use serde_json::Value;

use crate::attached::{Signed, manifest};
use crate::attestation::{Predicate, attestation, signature};
use crate::signing::SigningKey;
use llsd_registry::attached::tag;

/// What is said about an image.
#[derive(Debug)]
pub struct Said<'a> {
    pub bill_of_materials: &'a Value,
    pub provenance: &'a Value,
    pub key: &'a SigningKey,
}

/// Attaches a signature, the bill of materials and the provenance. What was attached to the same digest
/// before is replaced.
pub async fn attach(
    digest: &Digest,
    reference: &Reference,
    said: &Said<'_>,
    repository: Repository<'_>,
) -> Result<(), Error> {
    let (name, key) = (reference.name(), said.key);
    let about = |predicate, what| attestation(predicate, what, digest, &name, key);
    let attestations = [
        about(Predicate::BillOfMaterials, said.bill_of_materials),
        about(Predicate::Provenance, said.provenance),
    ];
    put(&attestations, &tag(digest, "att"), repository).await?;
    // The signature last: who finds it finds the rest.
    put(&[signature(digest, &name, key)], &tag(digest, "sig"), repository).await
}

async fn put(layers: &[Signed], tag: &str, repository: Repository<'_>) -> Result<(), Error> {
    repository.push_image(&manifest(layers), tag).await?;
    Ok(())
}
