//! How a server is to be booted: configuration, environment, command, and the folder that it keeps
//! its state in.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, ensure};
use tempfile::TempDir;

use super::{Release, server::LlamaStackServer};
use crate::{
    builder::free_ports,
    loopback_client,
    process::{Component, Watchdog},
};

/// For the shell and what it calls.
const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A server that is about to be booted. Its port and its folder are known before, so that a command
/// can name them.
#[derive(Debug)]
#[must_use]
pub struct Boot {
    config: String,
    env: BTreeMap<String, String>,
    port: u16,
    command: Vec<String>,
    home: PathBuf,
    authority: Option<String>,
    python_before: &'static str,
    private: TempDir,
}

impl Boot {
    /// With a free port, a home folder of its own that goes away with the server, and the command
    /// of the images: `llama stack run <config file> --port <port>`, or `ogx run`.
    pub fn new(config: impl Into<String>) -> anyhow::Result<Self> {
        let private = tempfile::Builder::new().prefix("llsd-llama-stack-").tempdir()?;
        let home = private.path().join("home");
        fs::create_dir(&home)?;
        let [port] = free_ports()?;
        Ok(Self {
            config: config.into(),
            env: BTreeMap::new(),
            port,
            command: Vec::new(),
            home,
            authority: None,
            python_before: "",
            private,
        })
    }

    /// One more environment variable. Those of the test process are not passed on.
    pub fn with_env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Where the server will listen, when another port than the chosen one is wanted.
    pub fn with_port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// A home folder that is kept, so that a later boot finds the state of an earlier one.
    pub fn with_home(mut self, home: impl Into<PathBuf>) -> Self {
        self.home = home.into();
        self
    }

    /// Another command line, such as the operator's own. The release's programs, `python3` among
    /// them, come first on its PATH; it has to listen on [`port`](Self::port).
    pub fn with_command<T: Into<String>>(mut self, command: impl IntoIterator<Item = T>) -> Self {
        self.command = command.into_iter().map(Into::into).collect();
        self
    }

    /// Started by `launch.py` of these files, such as the operator's own, in a folder of the server's home.
    pub fn with_program<'a>(
        self,
        files: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> anyhow::Result<Self> {
        let folder = self.home.join("start");
        fs::create_dir_all(&folder)?;
        for (name, text) in files {
            fs::write(folder.join(name), text).with_context(|| format!("{name} is not written"))?;
        }
        let launch = folder.join("launch.py").display().to_string();
        Ok(self.with_command(["python3".to_owned(), launch]))
    }

    /// The server will speak https with a certificate of this authority, in PEM.
    pub fn with_https(mut self, authority: impl Into<String>) -> Self {
        self.authority = Some(authority.into());
        self
    }

    /// What Python runs before the server's own program.
    pub fn with_python_before(mut self, text: &'static str) -> Self {
        self.python_before = text;
        self
    }

    /// The port on loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `HOME` and the working folder of the server, there already for what else it needs. State goes to `.llama` below it, unless the
    /// configuration says otherwise.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Where the configuration will stand; `LLAMA_STACK_CONFIG` and `OGX_CONFIG` name it too.
    pub fn config_file(&self) -> PathBuf {
        self.home.join("config.yaml")
    }
}

impl Release {
    /// Starts a server and does not wait for it: see [`LlamaStackServer::wait_healthy`]. Installs
    /// the release first where it is missing.
    pub fn boot(self, boot: Boot) -> anyhow::Result<LlamaStackServer> {
        let venv = self.install()?;
        fs::create_dir_all(boot.home())?;
        let config = boot.config_file();
        fs::write(&config, &boot.config)?;
        let python = boot.private.path().join("python");
        fs::create_dir(&python)?;
        let before_it = [include_str!("loopback_only.py"), boot.python_before].concat();
        fs::write(python.join("sitecustomize.py"), before_it)?;

        let run = || {
            let file = config.display().to_string();
            let llama_stack = ["llama", "stack", "run", &file, "--port"];
            let ogx = ["ogx", "run", &file, "--port"];
            let words = if self.is_ogx() { &ogx[..] } else { &llama_stack[..] };
            words.iter().map(ToString::to_string).chain([boot.port.to_string()]).collect()
        };
        let words: Vec<String> = if boot.command.is_empty() { run() } else { boot.command.clone() };
        ensure!(!words[0].is_empty(), "the command has no name");
        // A program is looked up on the PATH of the child, which this sets too.
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .current_dir(boot.home())
            .env_clear()
            .env("LANG", "C.UTF-8")
            .env("HOME", boot.home())
            .env("LLAMA_STACK_CONFIG", &config)
            .env("OGX_CONFIG", &config)
            .env("TIKTOKEN_CACHE_DIR", venv.tokenizers())
            // Releases up to 0.2 would fetch a list of prices from the network.
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            // What it says before it dies is worth most.
            .env("PYTHONUNBUFFERED", "1")
            .envs(&boot.env)
            .env("PATH", before(&venv.bin(), boot.env.get("PATH"), SYSTEM_PATH)?)
            .env("PYTHONPATH", before(&python, boot.env.get("PYTHONPATH"), "")?);

        let watchdog = Watchdog::guard(boot.private.path())?;
        let component =
            Component::start("llama-stack", &mut command, boot.private.path(), &watchdog)?;
        let client = loopback_client::client(boot.authority.as_deref())?;
        let scheme = if boot.authority.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://127.0.0.1:{}", boot.port);
        Ok(LlamaStackServer::new(component, watchdog, client, url, boot.home, boot.private))
    }
}

/// `first` before the given folders, or else before the usual ones.
fn before(first: &Path, given: Option<&String>, usual: &str) -> anyhow::Result<OsString> {
    let rest = given.map_or(usual, String::as_str);
    let rest = env::split_paths(rest).filter(|folder| !folder.as_os_str().is_empty());
    Ok(env::join_paths([first.to_owned()].into_iter().chain(rest))?)
}
