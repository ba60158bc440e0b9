//! Makes what is attached to an image: signatures and attestations, each a layer of a manifest of its own.

use llsd_image::document::OCI_MANIFEST;
use serde_json::{Value, json};

use llsd_image::assembly::{Assembled, Content};

/// A layer and its annotations.
#[derive(Clone, Debug)]
pub(crate) struct Signed {
    pub(crate) content: Content,
    pub(crate) annotations: Value,
}

/// A manifest with these layers. The configuration is that of an image without a root, which is what
/// registries accept that know nothing but images.
pub(crate) fn manifest(layers: &[Signed]) -> Assembled {
    let diff_ids: Vec<String> =
        layers.iter().map(|layer| layer.content.digest().to_string()).collect();
    let config = json!({
        "architecture": "", "os": "", "config": {},
        "rootfs": {"type": "layers", "diff_ids": diff_ids},
    });
    let config = Content::json("application/vnd.oci.image.config.v1+json", &config);
    let entries: Vec<Value> = layers
        .iter()
        .map(|layer| {
            let mut entry = layer.content.descriptor();
            entry["annotations"] = layer.annotations.clone();
            entry
        })
        .collect();
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "config": config.descriptor(),
        "layers": entries,
    });
    let mut blobs = vec![config];
    blobs.extend(layers.iter().map(|layer| layer.content.clone()));
    Assembled { blobs, manifests: Vec::new(), top: Content::json(OCI_MANIFEST, &manifest) }
}
