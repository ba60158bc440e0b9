//! The operator's image: one layer and one configuration for each architecture, and an index where there
//! are several.

use llsd_image::assembly::{Assembled, ForMachine, Layer, layer};
use serde_json::{Value, json};

use crate::root::{self, PROGRAM, USER};

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

/// The image of these programs, by architecture (`amd64`, `arm64`).
pub fn assemble(programs: &[(String, Vec<u8>)], release: &Release) -> Assembled {
    let time = u64::try_from(release.time).unwrap_or_default();
    let images = programs.iter().map(|(architecture, program)| {
        let layer = layer(&root::files(program.clone()), time);
        let config = config(architecture, &layer, release);
        let architecture = architecture.clone();
        ForMachine { architecture, config, layers: vec![layer], annotations: labels(release) }
    });
    Assembled::from_images(images.collect(), &labels(release))
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
