//! Where an image comes from, as SLSA writes it: the commit, the compiler, the locked dependencies. It
//! holds no times of the build, because the same sources give the same image whenever they are built.

use llsd_image::Digest;
use serde_json::{Value, json};

use crate::image::Release;

/// What was given to a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Build {
    /// Who built: an address, or `local`.
    pub builder: String,
    /// The compiler's targets, one for each architecture.
    pub targets: Vec<String>,
    /// As `rustc --version` says it.
    pub compiler: String,
    /// The content of `Cargo.lock`.
    pub lock: String,
}

pub fn provenance(build: &Build, release: &Release) -> Value {
    json!({
        "buildDefinition": {
            "buildType": "https://llamastack.io/llsd/make-image/v1",
            "externalParameters": {"version": release.version, "targets": build.targets},
            "internalParameters": {"compiler": build.compiler},
            "resolvedDependencies": [
                {"name": "source", "digest": {"gitCommit": release.revision}},
                {"name": "Cargo.lock", "digest": {"sha256": Digest::sha256(build.lock.as_bytes()).hex()}},
            ],
        },
        "runDetails": {"builder": {"id": build.builder}},
    })
}
