//! What is attached to an image under a tag made of its digest, as cosign finds it: signatures and
//! attestations, each a layer of a manifest of its own.

use crate::{Digest, Error, Manifest, Repository};

/// The annotation of a layer with the signature over it.
pub const SIGNATURE: &str = "dev.cosignproject.cosign/signature";

/// How many layers are read. A user who can push to the repository can attach any number.
const MOST: usize = 64;

/// A layer of what is attached.
#[derive(Clone, Debug)]
pub struct Attached {
    pub media_type: String,
    pub signature: String,
    pub content: Vec<u8>,
}

/// `sha256-<hex>.sig` of the image.
pub fn tag(image: &Digest, suffix: &str) -> String {
    format!("{}.{suffix}", image.to_string().replace(':', "-"))
}

/// The layers of the manifest that a repository's reference names, each of at most `limit` bytes.
pub async fn attached(repository: Repository<'_>, limit: u64) -> Result<Vec<Attached>, Error> {
    let what = "what is attached";
    let (_, content) = repository.manifest().await?;
    let Manifest::Image(manifest) = Manifest::parse(&content, what)? else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for layer in manifest.layers().iter().take(MOST) {
        let digest = llsd_image::manifest::digest_of(layer, what)?;
        let signature = layer.annotations().as_ref().and_then(|all| all.get(SIGNATURE));
        found.push(Attached {
            media_type: layer.media_type().to_string(),
            signature: signature.cloned().unwrap_or_default(),
            content: repository.blob(&digest, limit).await?.to_vec(),
        });
    }
    Ok(found)
}
