//! The programs that give pods and containers kernel namespaces of their own, and whether this
//! machine lets them.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use llsd_testkit::Unobtainable;

/// For the programs that prepare a container; what runs in it has a PATH of its own.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// How namespaces are made here.
#[derive(Debug, Clone)]
pub(crate) struct Namespaces {
    /// A user who is not root makes a user namespace first, and is root in that one alone.
    as_root: bool,
    /// Runs the two programs of the stand-in, outside of the images.
    python: PathBuf,
}

impl Namespaces {
    /// An [`Unobtainable`] where this machine, or the container that the test runs in, forbids
    /// them.
    pub(crate) fn find() -> anyhow::Result<Self> {
        let as_root = fs::metadata("/proc/self")?.uid() == 0;
        let found = Self { as_root, python: python()?.0 };
        let mut probe = Self::program("unshare");
        probe.args(found.user()).args([
            "--net",
            "--mount",
            "--pid",
            "--fork",
            "--mount-proc",
            "true",
        ]);
        let why = match probe.output() {
            Ok(done) if done.status.success() => return Ok(found),
            Ok(done) => last_line(&done),
            Err(error) => error.to_string(),
        };
        let user =
            if as_root { "root needs CAP_SYS_ADMIN" } else { "be root, or allow user namespaces" };
        Err(Unobtainable(format!("pods cannot have namespaces of their own here ({user}): {why}"))
            .into())
    }

    /// Whether containers can run under any user id.
    pub(crate) fn as_root(&self) -> bool {
        self.as_root
    }

    /// Runs a program of the stand-in with a network of its own. The process is the first one.
    pub(crate) fn in_new_network(&self, script: &Path) -> Command {
        let mut command = Self::program("unshare");
        command.args(self.user()).arg("--net").arg(&self.python).arg("-I").arg(script);
        command
    }

    /// Runs a program of the stand-in as the first process of a container, in the network of the
    /// process `sandbox`. The process is the parent of that first one, and takes it along.
    pub(crate) fn in_new_container(&self, sandbox: u32, script: &Path) -> Command {
        let mut command = Self::program("nsenter");
        command.args(self.entering(sandbox)).arg("--net").args([
            "unshare",
            "--mount",
            "--pid",
            "--uts",
            "--ipc",
            "--fork",
            "--kill-child",
        ]);
        command.arg(&self.python).arg("-I").arg(script);
        command
    }

    /// Runs a program of the image in a container, whose first process is `first`.
    pub(crate) fn in_container(&self, sandbox: u32, first: u32) -> Command {
        let mut command = Self::program("nsenter");
        if !self.as_root {
            command.args(self.entering(sandbox)).arg("nsenter");
        }
        command.arg(format!("--target={first}"));
        command.args(["--mount", "--net", "--pid", "--uts", "--ipc", "--root", "--wd"]);
        command
    }

    fn user(&self) -> &'static [&'static str] {
        if self.as_root { &[] } else { &["--user", "--map-root-user"] }
    }

    fn entering(&self, sandbox: u32) -> Vec<String> {
        let mut flags = vec![format!("--target={sandbox}")];
        if !self.as_root {
            flags.extend(["--user", "--preserve-credentials"].map(Into::into));
        }
        flags
    }

    fn program(name: &str) -> Command {
        // Not left to the PATH: a probe's command comes with that of its image.
        let mut places = PATH.split(':').map(|folder| Path::new(folder).join(name));
        let program = places.find(|place| place.is_file()).unwrap_or_else(|| name.into());
        let mut command = Command::new(program);
        command.env_clear().env("PATH", PATH).current_dir("/");
        command
    }
}

/// The interpreter behind `python3`, and the folder it is installed in. Version managers put a
/// script in its place, which works only with their environment.
pub(crate) fn python() -> anyhow::Result<(PathBuf, PathBuf)> {
    let ask = "import sys; print(sys.executable); print(sys.base_prefix)";
    let asked = Command::new("python3").args(["-c", ask]).output();
    let done = asked.map_err(|error| Unobtainable(format!("there is no python3: {error}")))?;
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let failed = || Unobtainable(format!("python3 does not work: {}", last_line(&done)));
    let (executable, prefix) = said.trim().split_once('\n').ok_or_else(failed)?;
    Ok((executable.into(), prefix.into()))
}

fn last_line(done: &Output) -> String {
    let said = String::from_utf8_lossy(&done.stderr);
    said.trim().lines().last().unwrap_or("no reason given").to_owned()
}
