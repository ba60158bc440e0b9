//! The manifest by which krew, kubectl's plugin manager, installs the command line as `kubectl llsd`.

use llsd_image::Digest;
use serde_json::{Value, json};

/// One archive that is published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    pub architecture: String,
    pub url: String,
    pub digest: Digest,
}

/// The manifest of a version.
pub fn manifest(version: &str, archives: &[Archive]) -> String {
    let platforms: Vec<Value> = archives
        .iter()
        .map(|archive| {
            json!({
                "selector": {"matchLabels": {"os": "linux", "arch": archive.architecture}},
                "uri": archive.url,
                "sha256": archive.digest.hex(),
                // kubectl finds a plugin by its file name, and krew links it under that name.
                "bin": "llsd",
                "files": [{"from": "llsd", "to": "."}, {"from": "LICENSE", "to": "."}],
            })
        })
        .collect();
    let manifest = json!({
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "llsd"},
        "spec": {
            "version": format!("v{version}"),
            "shortDescription": "Look after Llama Stack servers",
            "description": "Renders, explains, validates and compares LlamaStackDistribution resources with \
                            the operator's own engine, with a cluster and without.",
            "platforms": platforms,
        },
    });
    llsd_install::yaml(&manifest)
}
