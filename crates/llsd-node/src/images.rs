//! Images for the node: what holds a pod and a shell with the usual commands for tests, each a single program; and
//! real servers, with Debian and Python.

use std::{fs, path::Path};

use anyhow::{Context, ensure};
use base64::{Engine, prelude::BASE64_STANDARD};
use llsd_image::assembly::{Assembled, File, ForMachine, Layer, layer};
use llsd_testkit::{ImageArchive, Release, TOKENIZERS, debian_program};
use serde_json::{Map, Value, json};

/// The image that holds the namespaces of every pod.
pub(crate) const PAUSE: &str = "llsd/pause:1";

/// A static program alone, at `/NAME`, as a user without rights.
pub(crate) fn program(name: &str, program: &Path) -> anyhow::Result<Assembled> {
    let content = fs::read(program).with_context(|| program.display().to_string())?;
    let files = [File::new(name, 0o755, content)];
    let config = json!({"Entrypoint": [format!("/{name}")], "User": "65535:65535"});
    Ok(assembled(vec![layer(&files, 0)], &config))
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
    let config = json!({"Entrypoint": ["/bin/busybox"], "Cmd": ["sh"]});
    Ok(assembled(vec![layer(&files, 0)], &config))
}

/// Where an image has its own configuration.
const OWN_FILE: &str = "opt/app-root/config.yaml";

/// A release of the real server with these labels, as its distributions have it: Debian, Python and the packages, and
/// the configuration of its label as a file. Blocks, for minutes the first time.
pub fn server(release: Release, labels: &Map<String, Value>) -> anyhow::Result<Assembled> {
    let (mut layers, mut arguments) = (debian_with_server(release)?, Vec::new());
    if let Some(own) = labels.get("io.llamastack.config.base64").and_then(Value::as_str) {
        layers.push(layer(&[File::new(OWN_FILE, 0o644, BASE64_STANDARD.decode(own)?)], 0));
        arguments.push(format!("/{OWN_FILE}"));
    }
    let entrypoint =
        if release.is_ogx() { &["ogx", "run"][..] } else { &["llama", "stack", "run"] };
    let config = json!({
        "User": "1001",
        "WorkingDir": "/opt",
        "Entrypoint": entrypoint,
        "Cmd": arguments,
        "Env": [
            "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "LANG=C.UTF-8",
            format!("TIKTOKEN_CACHE_DIR={TOKENIZERS}"),
        ],
        "Labels": labels,
    });
    Ok(assembled(layers, &config))
}

/// A program with the libraries that it was built with on this machine, at `/usr/local/bin/NAME` in a server's image.
pub(crate) fn on_debian(name: &str, program: &Path) -> anyhow::Result<Assembled> {
    let content = fs::read(program).with_context(|| program.display().to_string())?;
    let mut layers = debian_with_server(Release::newest())?;
    layers.push(layer(&[File::new(&format!("usr/local/bin/{name}"), 0o755, content)], 0));
    let path = "PATH=/usr/local/bin:/usr/bin:/bin";
    Ok(assembled(layers, &json!({"User": "65532:65532", "Entrypoint": [name], "Env": [path]})))
}

fn debian_with_server(release: Release) -> anyhow::Result<Vec<Layer>> {
    let layer = |archive: &ImageArchive| {
        Ok(Layer { bytes: fs::read(&archive.file)?, diff_id: archive.diff_id.parse()? })
    };
    release.image_archives()?.iter().map(layer).collect()
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

/// An image for this machine.
pub(crate) fn assembled(layers: Vec<Layer>, config: &Value) -> Assembled {
    let diff_ids: Vec<String> = layers.iter().map(|layer| layer.diff_id.to_string()).collect();
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let config = json!({
        "architecture": architecture,
        "os": "linux",
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": diff_ids},
    });
    let annotations = json!({});
    let image = ForMachine {
        architecture: architecture.to_owned(),
        config,
        layers,
        annotations: annotations.clone(),
    };
    Assembled::from_images(vec![image], &annotations)
}
