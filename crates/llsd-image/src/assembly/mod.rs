//! An image as documents and blobs, ready to be written to a registry. The same files give the same
//! bytes.

mod layer;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::Digest;
use crate::document::{OCI_INDEX, OCI_MANIFEST};

pub use layer::{File, Layer, layer};

/// The media type of an image's configuration.
pub const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
/// The media type of its layers.
pub const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// A document or blob that goes to a registry.
#[derive(Clone, Debug)]
pub struct Content {
    pub media_type: &'static str,
    pub bytes: Bytes,
}

impl Content {
    pub fn json(media_type: &'static str, value: &Value) -> Self {
        Self { media_type, bytes: value.to_string().into() }
    }

    pub fn digest(&self) -> Digest {
        Digest::sha256(&self.bytes)
    }

    pub fn descriptor(&self) -> Value {
        json!({
            "mediaType": self.media_type,
            "digest": self.digest().to_string(),
            "size": self.bytes.len(),
        })
    }
}

/// An image that was assembled, in the order in which it is written.
#[derive(Clone, Debug)]
pub struct Assembled {
    pub blobs: Vec<Content>,
    /// The manifests that the index lists; none where the only one stands at the top.
    pub manifests: Vec<Content>,
    /// What a tag points to.
    pub top: Content,
}

/// An image for one architecture (`amd64`, `arm64`).
#[derive(Clone, Debug)]
pub struct ForMachine {
    pub architecture: String,
    pub config: Value,
    /// The lowest first.
    pub layers: Vec<Layer>,
    pub annotations: Value,
}

impl Assembled {
    /// One image for all of these; several of them stand in an index with `annotations`.
    pub fn from_images(images: Vec<ForMachine>, annotations: &Value) -> Self {
        let (mut blobs, mut manifests) = (Vec::new(), Vec::new());
        for image in images {
            let config = Content::json(CONFIG, &image.config);
            let layers = image.layers.into_iter();
            let layers: Vec<Content> = layers
                .map(|layer| Content { media_type: LAYER, bytes: layer.bytes.into() })
                .collect();
            let descriptors: Vec<Value> = layers.iter().map(Content::descriptor).collect();
            let manifest = json!({
                "schemaVersion": 2,
                "mediaType": OCI_MANIFEST,
                "config": config.descriptor(),
                "layers": descriptors,
                "annotations": image.annotations,
            });
            blobs.push(config);
            blobs.extend(layers);
            manifests.push((image.architecture, Content::json(OCI_MANIFEST, &manifest)));
        }
        if let [(_, only)] = &manifests[..] {
            return Self { blobs, manifests: Vec::new(), top: only.clone() };
        }
        let entries: Vec<Value> =
            manifests.iter().map(|(name, manifest)| entry(name, manifest)).collect();
        let index = json!({
            "schemaVersion": 2,
            "mediaType": OCI_INDEX,
            "manifests": entries,
            "annotations": annotations,
        });
        let manifests = manifests.into_iter().map(|(_, manifest)| manifest).collect();
        Self { blobs, manifests, top: Content::json(OCI_INDEX, &index) }
    }

    pub fn digest(&self) -> Digest {
        self.top.digest()
    }

    /// The bytes that a node pulls for one architecture, all layers counted.
    pub fn largest_layer(&self) -> usize {
        let layers = self.blobs.iter().filter(|blob| blob.media_type == LAYER);
        layers.map(|blob| blob.bytes.len()).max().unwrap_or_default()
    }
}

fn entry(architecture: &str, manifest: &Content) -> Value {
    let mut entry = manifest.descriptor();
    entry["platform"] = json!({"os": "linux", "architecture": architecture});
    entry
}
