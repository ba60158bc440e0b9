//! Images that the node itself needs, assembled from single programs: what holds a pod, and a shell
//! with the usual commands for tests.

use std::{fs, path::Path};

use anyhow::{Context, ensure};
use llsd_image::assembly::{Assembled, File, ForMachine, layer};
use llsd_testkit::debian_program;
use serde_json::{Value, json};

/// The image that holds the namespaces of every pod.
pub(crate) const PAUSE: &str = "llsd/pause:1";

pub(crate) fn pause(program: &Path) -> anyhow::Result<Assembled> {
    let content = fs::read(program).with_context(|| program.display().to_string())?;
    let files = [File::new("pause", 0o755, content)];
    Ok(assembled(&files, &json!({"Entrypoint": ["/pause"], "User": "65535:65535"})))
}

/// Debian's static busybox, alone: `/bin/busybox sh -c …`, `/bin/busybox wget …`.
pub fn busybox() -> anyhow::Result<Assembled> {
    let program = debian_program("busybox", "busybox-static")?;
    let content = fs::read(&program)?;
    let is_static = !names_a_loader(&content);
    ensure!(is_static, "{} is not static: install busybox-static", program.display());
    let files = [
        File::new("bin/busybox", 0o755, content),
        File::new("etc/passwd", 0o644, "root:x:0:0::/:/bin/busybox\n"),
    ];
    Ok(assembled(&files, &json!({"Entrypoint": ["/bin/busybox"], "Cmd": ["sh"]})))
}

/// Whether an ELF file of 64 bits has a segment that names the program which loads its libraries.
fn names_a_loader(program: &[u8]) -> bool {
    const NAMES_LOADER: usize = 3;
    let number = |at: usize, length: usize| {
        let bytes = program.get(at..at + length).unwrap_or_default();
        bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
    };
    let (start, size, count) = (number(32, 8), number(54, 2), number(56, 2));
    (0..count).any(|segment| number(start + segment * size, 4) == NAMES_LOADER)
}

fn assembled(files: &[File], config: &Value) -> Assembled {
    let layer = layer(files, 0);
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let config = json!({
        "architecture": architecture,
        "os": "linux",
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": [layer.diff_id.to_string()]},
    });
    let annotations = json!({});
    let image = ForMachine {
        architecture: architecture.to_owned(),
        config,
        layer,
        annotations: annotations.clone(),
    };
    Assembled::from_images(vec![image], &annotations)
}
