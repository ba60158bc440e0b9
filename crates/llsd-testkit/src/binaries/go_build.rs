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

use super::{go_program::GoProgram, go_toolchain};
use crate::{
    announce::announce,
    cache::{Cache, CacheLock},
    process::last_lines,
};

const SHOW_EVERY: Duration = Duration::from_secs(15);

pub(super) fn build(
    cache: &Cache,
    lock: &CacheLock,
    program: &GoProgram,
    target: PathBuf,
) -> anyhow::Result<PathBuf> {
    let go = go_toolchain::find(cache, lock, program.subject, program.go_line())?;
    // A new folder per attempt: a `go build` that outlives a killed test run may still write, and
    // must not write into the file of the next attempt.
    let staging = Cache::staging(&target, lock)?;
    let made = staging.path().join(program.file_name);
    run_go_build(&go, program, &made)?;
    fs::rename(&made, &target)?;
    Ok(target)
}

fn run_go_build(go: &Path, program: &GoProgram, made: &Path) -> anyhow::Result<()> {
    let log = made.with_extension("log");
    let started = Instant::now();
    let what = format!("{} {}", program.file_name, program.version);
    let say = |line: &str| announce(program.subject, line);
    say(&format!("building {what} from source; the first of its kind takes minutes on two cores"));
    let mut build = go_command(go, program, made)
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
            say(&format!("building {what}: {} s so far", started.elapsed().as_secs()));
        }
        thread::sleep(Duration::from_millis(100));
    };
    if !status.success() {
        bail!("go build of {what} failed:\n{}", last_lines(&log, 15));
    }
    say(&format!("built {what} in {} s", started.elapsed().as_secs()));
    Ok(())
}

fn go_command(go: &Path, program: &GoProgram, made: &Path) -> Command {
    let mut build = go_in_module(go, program);
    build.args(["build", "-trimpath", "-buildvcs=false", "-ldflags"]);
    let version = program.version_variable.map(|name| format!(" -X {name}=v{}", program.version));
    build.arg(format!("-s -w{}", version.unwrap_or_default()));
    if !program.tags.is_empty() {
        build.args(["-tags", program.tags]);
    }
    build
        .arg("-o")
        .arg(made)
        .arg(program.package)
        .env("CGO_ENABLED", if program.with_c { "1" } else { "0" })
        .stdout(Stdio::null());
    build
}

/// A `go` command in the folder of the committed `go.mod`.
pub(super) fn go_in_module(go: &Path, program: &GoProgram) -> Command {
    let mut command = Command::new(go);
    command
        .current_dir(&program.module)
        // What the machine sets for other Go work must not change what is built here.
        .env("GOFLAGS", "-mod=readonly")
        .env("GOWORK", "off")
        .env("GOTOOLCHAIN", "local")
        .env_remove("GOOS")
        .env_remove("GOARCH")
        .env_remove("GOROOT")
        .stdin(Stdio::null());
    command
}
