//! Builds one program from Go source, at the versions that the committed `go.mod` and `go.sum`
//! pin. It takes minutes, so what happens and for how long is shown.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};

use super::{
    go_toolchain,
    version::{Binary, Kubernetes, go_line},
};
use crate::{
    announce::{CONTROL_PLANE, announce},
    cache::{Cache, CacheLock},
    process::last_lines,
};

const SHOW_EVERY: Duration = Duration::from_secs(15);

pub(super) fn build(
    cache: &Cache,
    lock: &CacheLock,
    binary: Binary,
    kubernetes: Kubernetes,
) -> anyhow::Result<PathBuf> {
    let go = go_toolchain::find(cache, lock, go_line(binary.go_mod(kubernetes)))?;
    let target = cache.pinned(binary, kubernetes);
    // A new folder per attempt: a `go build` that outlives a killed test run may still write, and
    // must not write into the file of the next attempt.
    let staging = Cache::staging(&target, lock)?;
    let made = staging.path().join(binary.file_name());
    let what = format!("{} {}", binary.file_name(), binary.version(kubernetes));
    run_go_build(&go, binary, kubernetes, &made, &what)?;
    fs::rename(&made, &target)?;
    Ok(target)
}

fn run_go_build(
    go: &Path,
    binary: Binary,
    kubernetes: Kubernetes,
    made: &Path,
    what: &str,
) -> anyhow::Result<()> {
    let log = made.with_extension("log");
    let started = Instant::now();
    announce(
        CONTROL_PLANE,
        &format!(
            "building {what} from source; the first of them takes about ten minutes on two cores"
        ),
    );
    let mut build = Command::new(go)
        .current_dir(binary.go_module_dir(kubernetes))
        .args(["build", "-trimpath", "-buildvcs=false", "-ldflags"])
        // Without its version a kube-apiserver calls itself v0.0.0-master and clients that look
        // at it do not see what it can do.
        .arg(format!(
            "-s -w -X k8s.io/component-base/version.gitVersion=v{}",
            binary.version(kubernetes)
        ))
        .arg("-o")
        .arg(made)
        .arg(binary.go_package())
        // What the machine sets for other Go work must not change what is built here.
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", "-mod=readonly")
        .env("GOWORK", "off")
        .env("GOTOOLCHAIN", "local")
        .env_remove("GOOS")
        .env_remove("GOARCH")
        .env_remove("GOROOT")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&log)?)
        .spawn()
        .with_context(|| format!("cannot run {}", go.display()))?;

    let mut shown = Instant::now();
    let status = loop {
        if let Some(status) = build.try_wait()? {
            break status;
        }
        if shown.elapsed() >= SHOW_EVERY {
            shown = Instant::now();
            announce(
                CONTROL_PLANE,
                &format!("building {what}: {} s so far", started.elapsed().as_secs()),
            );
        }
        thread::sleep(Duration::from_millis(100));
    };
    if !status.success() {
        bail!("go build of {what} failed:\n{}", last_lines(&log, 15));
    }
    announce(CONTROL_PLANE, &format!("built {what} in {} s", started.elapsed().as_secs()));
    Ok(())
}
