//! An image as a folder that other tools read: an OCI image layout, for `skopeo copy oci:DIR …` and the
//! like.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::json;

use llsd_image::assembly::{Assembled, Content};

/// Writes the image under a tag; what was in the folder goes first.
pub fn write(image: &Assembled, tag: &str, folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let blobs = folder.join("blobs/sha256");
    fs::create_dir_all(&blobs)?;
    let put = |content: &Content| fs::write(blobs.join(content.digest().hex()), &content.bytes);
    for content in image.blobs.iter().chain(&image.manifests).chain([&image.top]) {
        put(content)?;
    }
    let mut top = image.top.descriptor();
    top["annotations"] = json!({"org.opencontainers.image.ref.name": tag});
    let index = json!({"schemaVersion": 2, "manifests": [top]});
    fs::write(folder.join("index.json"), index.to_string())?;
    fs::write(folder.join("oci-layout"), json!({"imageLayoutVersion": "1.0.0"}).to_string())
}
