//! An image as documents and blobs: one layer and one configuration for each architecture, and an
//! index where there are several.

use bytes::Bytes;
use llsd_image::Digest;
use llsd_image::document::{OCI_INDEX, OCI_MANIFEST};
use serde_json::{Value, json};

use crate::layer::{Layer, layer};
use crate::root::{self, PROGRAM, USER};

const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// What a release is called and made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Such as `0.1.0`.
    pub version: String,
    /// The commit.
    pub revision: String,
    /// The commit's time, in seconds: what is built later from it is the same.
    pub time: i64,
}

impl Release {
    /// As RFC 3339 writes it.
    pub fn date(&self) -> String {
        jiff::Timestamp::from_second(self.time).unwrap_or_default().to_string()
    }
}

/// A document or blob that goes to a registry.
#[derive(Clone, Debug)]
pub struct Content {
    pub media_type: &'static str,
    pub bytes: Bytes,
}

impl Content {
    pub(crate) fn json(media_type: &'static str, value: &Value) -> Self {
        Self { media_type, bytes: value.to_string().into() }
    }

    pub fn digest(&self) -> Digest {
        Digest::of(&self.bytes)
    }

    pub(crate) fn descriptor(&self) -> Value {
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

impl Assembled {
    pub fn digest(&self) -> Digest {
        self.top.digest()
    }

    /// The bytes that a node pulls for one architecture, all layers counted.
    pub fn largest_layer(&self) -> usize {
        let layers = self.blobs.iter().filter(|blob| blob.media_type == LAYER);
        layers.map(|blob| blob.bytes.len()).max().unwrap_or_default()
    }
}

/// The image of these programs, by architecture (`amd64`, `arm64`).
pub fn assemble(programs: &[(String, Vec<u8>)], release: &Release) -> Assembled {
    let mut blobs = Vec::new();
    let mut manifests = Vec::new();
    for (architecture, program) in programs {
        let time = u64::try_from(release.time).unwrap_or_default();
        let layer = layer(&root::files(program.clone()), time);
        let config = Content::json(CONFIG, &config(architecture, &layer, release));
        let layer = Content { media_type: LAYER, bytes: layer.bytes.into() };
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": OCI_MANIFEST,
            "config": config.descriptor(),
            "layers": [layer.descriptor()],
            "annotations": labels(release),
        });
        blobs.extend([config, layer]);
        manifests.push((architecture, Content::json(OCI_MANIFEST, &manifest)));
    }
    if let [(_, only)] = &manifests[..] {
        return Assembled { blobs, manifests: Vec::new(), top: only.clone() };
    }
    let entries: Vec<Value> =
        manifests.iter().map(|(name, manifest)| entry(name, manifest)).collect();
    let index = json!({
        "schemaVersion": 2,
        "mediaType": OCI_INDEX,
        "manifests": entries,
        "annotations": labels(release),
    });
    let manifests = manifests.into_iter().map(|(_, manifest)| manifest).collect();
    Assembled { blobs, manifests, top: Content::json(OCI_INDEX, &index) }
}

fn entry(architecture: &str, manifest: &Content) -> Value {
    let mut entry = manifest.descriptor();
    entry["platform"] = json!({"os": "linux", "architecture": architecture});
    entry
}

fn config(architecture: &str, layer: &Layer, release: &Release) -> Value {
    json!({
        "created": release.date(),
        "architecture": architecture,
        "os": "linux",
        "config": {
            "User": format!("{USER}:{USER}"),
            "Env": ["PATH=/usr/local/bin"],
            "Entrypoint": [format!("/{PROGRAM}")],
            "WorkingDir": "/",
            "Labels": labels(release),
        },
        "rootfs": {"type": "layers", "diff_ids": [layer.diff_id.to_string()]},
        "history": [{"created": release.date(), "created_by": "make image"}],
    })
}

fn labels(release: &Release) -> Value {
    json!({
        "org.opencontainers.image.created": release.date(),
        "org.opencontainers.image.description":
            "The operator for Llama Stack servers on Kubernetes, and the same engine as a command line",
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.revision": release.revision,
        "org.opencontainers.image.title": "llsd",
        "org.opencontainers.image.version": release.version,
    })
}
