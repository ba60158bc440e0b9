//! Images made in tests: layers from a few files, a configuration with labels, a manifest.

use std::{collections::BTreeMap, io::Write};

use flate2::{Compression, write::GzEncoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tar::{EntryType, Header};

/// A layer as it is stored in a registry.
#[derive(Debug, Clone)]
pub struct TestLayer {
    pub bytes: Vec<u8>,
    pub media_type: &'static str,
    /// The digest of the archive within.
    pub diff_id: String,
}

impl TestLayer {
    /// An uncompressed archive of these files.
    pub fn files(files: &[(&str, &[u8])]) -> Self {
        let mut archive = tar::Builder::new(Vec::new());
        for (path, content) in files {
            let mut header = Header::new_gnu();
            header.set_entry_type(EntryType::Regular);
            header.set_mode(0o644);
            header.set_size(content.len() as u64);
            archive.append_data(&mut header, path, *content).expect("a vector takes everything");
        }
        Self::archive(archive.into_inner().expect("a vector takes everything"))
    }

    /// An uncompressed archive made elsewhere.
    pub fn archive(bytes: Vec<u8>) -> Self {
        let diff_id = digest(&bytes);
        Self { bytes, media_type: "application/vnd.oci.image.layer.v1.tar", diff_id }
    }

    #[must_use]
    pub fn gzip(self) -> Self {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&self.bytes).expect("a vector takes everything");
        let bytes = encoder.finish().expect("a vector takes everything");
        Self { bytes, media_type: "application/vnd.oci.image.layer.v1.tar+gzip", ..self }
    }

    #[must_use]
    pub fn zstd(self) -> Self {
        let bytes = compress_to_vec(self.bytes.as_slice(), CompressionLevel::Fastest);
        Self { bytes, media_type: "application/vnd.oci.image.layer.v1.tar+zstd", ..self }
    }

    /// The digest under which the registry keeps it.
    pub fn digest(&self) -> String {
        digest(&self.bytes)
    }
}

/// An image for one platform.
#[derive(Debug, Clone, Default)]
pub struct TestImage {
    pub labels: BTreeMap<String, String>,
    pub layers: Vec<TestLayer>,
    architecture: Option<String>,
    is_docker: bool,
}

impl TestImage {
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn label(mut self, key: &str, value: impl Into<String>) -> Self {
        self.labels.insert(key.to_owned(), value.into());
        self
    }

    #[must_use]
    pub fn layer(mut self, layer: TestLayer) -> Self {
        self.layers.push(layer);
        self
    }

    /// Linux on another architecture than amd64.
    #[must_use]
    pub fn architecture(mut self, name: &str) -> Self {
        self.architecture = Some(name.to_owned());
        self
    }

    /// With Docker's media types (version 2, schema 2) instead of OCI's.
    #[must_use]
    pub fn docker(mut self) -> Self {
        self.is_docker = true;
        self
    }

    /// The manifest's media type.
    pub fn media_type(&self) -> &'static str {
        if self.is_docker { DOCKER_MANIFEST } else { MANIFEST }
    }

    fn architecture_name(&self) -> &str {
        self.architecture.as_deref().unwrap_or("amd64")
    }

    /// The configuration blob.
    pub fn config(&self) -> Vec<u8> {
        let diff_ids: Vec<&str> = self.layers.iter().map(|layer| layer.diff_id.as_str()).collect();
        let config = json!({
            "architecture": self.architecture_name(),
            "os": "linux",
            "config": { "Labels": self.labels },
            "rootfs": { "type": "layers", "diff_ids": diff_ids },
        });
        config.to_string().into_bytes()
    }

    /// The manifest of configuration and layers.
    pub fn manifest(&self) -> Vec<u8> {
        let layer_type =
            |layer: &TestLayer| if self.is_docker { DOCKER_LAYER } else { layer.media_type };
        let layers: Vec<Value> =
            self.layers.iter().map(|layer| descriptor(layer_type(layer), &layer.bytes)).collect();
        let config =
            descriptor(if self.is_docker { DOCKER_CONFIG } else { CONFIG }, &self.config());
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": self.media_type(),
            "config": config,
            "layers": layers,
        });
        manifest.to_string().into_bytes()
    }
}

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
const DOCKER_CONFIG: &str = "application/vnd.docker.container.image.v1+json";
const DOCKER_LAYER: &str = "application/vnd.docker.image.rootfs.diff.tar.gzip";
pub(super) const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// An index of several platforms.
pub(super) fn index(images: &[TestImage]) -> Vec<u8> {
    let manifests: Vec<Value> = images
        .iter()
        .map(|image| {
            let mut entry = descriptor(image.media_type(), &image.manifest());
            entry["platform"] = json!({ "os": "linux", "architecture": image.architecture_name() });
            entry
        })
        .collect();
    let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": manifests });
    index.to_string().into_bytes()
}

fn descriptor(media_type: &str, content: &[u8]) -> Value {
    json!({ "mediaType": media_type, "digest": digest(content), "size": content.len() })
}

pub(super) fn digest(content: &[u8]) -> String {
    let hash = Sha256::digest(content);
    hash.iter().fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}
