//! A server that runs here: started as in a pod, on loopback alone, and ended with all that it started.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use llsd_offline::laptop::PreflightAnswer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use super::environment::Environment;
use super::listener;
use super::programs::Programs;
use crate::command::whole_file;

/// Variables of this process that the server gets, too. Others could change its configuration, which is to be what the
/// files say.
const PASSED_ON: [&str; 17] = [
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "USER",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "TIKTOKEN_CACHE_DIR",
    "HF_HOME",
];
const PAUSE: Duration = Duration::from_millis(100);
/// More than the guard gives the server.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long a server that takes the place of another one may need until it answers. It is some 20 seconds on a busy
/// laptop, and minutes where a model is downloaded; the user who changed the file waits for it, without a server.
pub(super) const START_PATIENCE: Duration = Duration::from_mins(5);
const PREFLIGHT_SECONDS: u64 = 120;

/// All that a start needs.
#[derive(Clone)]
pub(super) struct Launch {
    pub(super) name: String,
    pub(super) environment: Environment,
    pub(super) config: String,
    pub(super) data: PathBuf,
    pub(super) tokenizers: PathBuf,
    pub(super) port: u16,
    pub(super) arguments: Vec<String>,
    /// Those of the resource and of the `.env` file.
    pub(super) variables: BTreeMap<String, String>,
}

impl Launch {
    /// A command with the server's environment, whose configuration is written to a file of this name.
    fn command(&self, programs: &Programs, config: &str) -> io::Result<Command> {
        let config = self.data.join(config);
        whole_file::write(&config, &self.config)?;
        let mut command = Command::new(self.environment.python());
        command.current_dir(&self.data).env_clear();
        let passed_on = PASSED_ON.iter().filter_map(|name| Some((name, env::var_os(name)?)));
        let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        let port = self.port.to_string();
        command
            .env("HF_HOME", home.join(".cache").join("huggingface"))
            .env("TIKTOKEN_CACHE_DIR", &self.tokenizers)
            .env("PYTHONUNBUFFERED", "1")
            // The base of older releases would fetch a list of prices.
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            .envs(passed_on)
            .envs(&self.variables)
            .env("HOME", &self.data)
            .env("PATH", self.path())
            .env("LLAMA_STACK_CONFIG", &config)
            .env("OGX_CONFIG", &config)
            .env("OGX_CONFIG_DIR", self.data.join(".ogx"))
            .env("LLS_HOST", Ipv4Addr::LOCALHOST.to_string())
            .env("LLS_PORT", &port)
            // A configuration may refer to those of the images, as in a pod.
            .env("LLAMA_STACK_PORT", &port)
            .env("OGX_PORT", &port)
            .env("LLS_WORKERS", "1")
            .env("LLS_START_RECORD", programs.folder().join("no-record"))
            .env("LLS_TERMINATION_LOG", "/dev/null")
            .env("LLS_PREFLIGHT_SECONDS", PREFLIGHT_SECONDS.to_string());
        Ok(command)
    }

    fn path(&self) -> OsString {
        let rest = env::var_os("PATH").unwrap_or_default();
        let folders = [self.environment.bin()].into_iter().chain(env::split_paths(&rest));
        env::join_paths(folders).unwrap_or(rest)
    }

    /// Whether a server of the other one is a server of this one.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.name == other.name
            && self.data == other.data
            && self.config == other.config
            && self.variables == other.variables
            && self.arguments == other.arguments
            && self.port == other.port
            && self.environment.python() == other.environment.python()
    }

    /// What the server's own code says of the configuration, without starting it.
    pub(super) async fn preflight(&self, programs: &Programs) -> Result<PreflightAnswer, String> {
        let fails = |error: io::Error| format!("the preflight: {error}");
        let mut command = self.command(programs, "config.new.yaml").map_err(fails)?;
        command.arg(programs.preflight()).stdin(Stdio::null()).kill_on_drop(true);
        let done = command.output().await.map_err(fails)?;
        serde_json::from_slice(&done.stdout).map_err(|_| {
            let printed = String::from_utf8_lossy(&done.stderr);
            let last = printed.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
            format!("the preflight ends without a result: {last}")
        })
    }

    /// Starts it. The error says why that is impossible.
    pub(super) async fn start(&self, programs: &Programs) -> Result<LocalServer, String> {
        let port = self.port;
        if !is_free_soon(port).await {
            return Err(format!("another program uses the port {port}"));
        }
        self.spawn(programs).map_err(|error| error.to_string())
    }

    fn spawn(&self, programs: &Programs) -> io::Result<LocalServer> {
        let mut command = self.command(programs, "config.yaml")?;
        command.arg(programs.guard()).arg(self.environment.python()).arg(programs.launch());
        // A terminal's Ctrl-C goes to this process alone, which then ends the server.
        command.args(&self.arguments).stdin(Stdio::piped()).process_group(0);
        Ok(LocalServer { guard: command.spawn()?, port: self.port })
    }
}

/// Values of variables are secrets.
impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launch")
            .field("name", &self.name)
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}

/// A running server. Dropped, it ends a moment later.
#[derive(Debug)]
pub(super) struct LocalServer {
    /// Ends the server when its standard input is closed.
    guard: Child,
    port: u16,
}

impl LocalServer {
    /// Waits until it answers, if need be only so long. The error says why it does not.
    pub(super) async fn ready(&mut self, patience: Option<Duration>) -> Result<(), String> {
        let Some(patience) = patience else { return self.answers().await };
        let late = |_| Err(format!("it has not answered for {} minutes", patience.as_secs() / 60));
        timeout(patience, self.answers()).await.unwrap_or_else(late)
    }

    async fn answers(&mut self) -> Result<(), String> {
        loop {
            let answers = is_healthy(self.port).await && !self.is_another_there();
            // After the answer: it may be another program's, which took the port while this server started.
            if let Ok(Some(status)) = self.guard.try_wait() {
                return Err(format!("it ended with {status} before it answered"));
            }
            if answers {
                return Ok(());
            }
            sleep(PAUSE).await;
        }
    }

    fn is_another_there(&self) -> bool {
        self.guard.id().is_some_and(|guard| listener::is_of_another(guard, self.port))
    }

    /// Waits until it ends by itself.
    pub(super) async fn ended(&mut self) -> io::Result<ExitStatus> {
        // `wait` would close its standard input, which ends it.
        loop {
            if let Some(status) = self.guard.try_wait()? {
                return Ok(status);
            }
            sleep(PAUSE).await;
        }
    }

    /// Ends it with all that it started, and waits for that.
    pub(super) async fn stop(mut self) {
        drop(self.guard.stdin.take());
        if timeout(PATIENCE, self.guard.wait()).await.is_err() {
            let _ = self.guard.kill().await;
        }
    }
}

async fn is_healthy(port: u16) -> bool {
    let asked = async {
        let mut stream = TcpStream::connect(address(port)).await?;
        stream.write_all(b"GET /v1/health HTTP/1.0\r\nHost: localhost\r\n\r\n").await?;
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await?;
        Ok::<_, io::Error>(answer)
    };
    let answer = timeout(Duration::from_secs(5), asked).await;
    answer.is_ok_and(|answer| answer.is_ok_and(|answer| answer.ends_with(b" 200")))
}

fn address(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// Whether something else listens there.
pub(super) fn is_taken(port: u16) -> bool {
    TcpListener::bind(address(port)).is_err()
}

/// A process that was killed holds its port for another moment.
async fn is_free_soon(port: u16) -> bool {
    for _ in 0..20 {
        if !is_taken(port) {
            return true;
        }
        sleep(PAUSE).await;
    }
    false
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::path::Path;

    use llsd_offline::laptop::OWN_VARIABLES;

    use super::*;

    fn launch(data: &Path) -> Launch {
        Launch {
            name: "demo".to_owned(),
            environment: Environment { root: data.join("environment"), types: Vec::new() },
            config: String::new(),
            data: data.to_owned(),
            tokenizers: data.join("tokenizers"),
            port: 8321,
            arguments: Vec::new(),
            variables: BTreeMap::new(),
        }
    }

    #[test]
    fn a_server_of_another_name_or_with_other_data_is_another_one() {
        let one = launch(Path::new("/data/demo"));
        assert!(one.is_same(&one.clone()));
        let renamed = Launch { name: "other".to_owned(), ..one.clone() };
        let moved = Launch { data: PathBuf::from("/data/other"), ..one.clone() };
        assert!(!one.is_same(&renamed) && !one.is_same(&moved));
    }

    fn variables(launch: &Launch, programs: &Programs) -> BTreeMap<String, String> {
        let command = launch.command(programs, "config.yaml").unwrap();
        let text = |text: &OsStr| text.to_string_lossy().into_owned();
        let set = command.as_std().get_envs();
        set.filter_map(|(name, value)| Some((text(name), text(value?)))).collect()
    }

    #[test]
    fn only_variables_that_are_warned_of_win_over_those_of_the_files() {
        let folder = tempfile::tempdir().unwrap();
        let programs = Programs::write(folder.path()).unwrap();
        let plain = launch(folder.path());
        let names = variables(&plain, &programs).into_keys();
        let of_a_file = names.map(|name| (name, "of a file".to_owned())).collect();
        let set = variables(&Launch { variables: of_a_file, ..plain }, &programs);
        for (name, _) in set.iter().filter(|(_, value)| *value != "of a file") {
            assert!(OWN_VARIABLES.contains(&name.as_str()), "{name}");
        }
        assert_eq!(set["HF_HOME"], "of a file");
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_neither_answers_nor_ends_is_given_up() {
        let free = TcpListener::bind(address(0)).unwrap().local_addr().unwrap();
        let mut hangs = Command::new("sleep");
        hangs.arg("600").stdin(Stdio::piped()).kill_on_drop(true);
        let mut server = LocalServer { guard: hangs.spawn().unwrap(), port: free.port() };
        let why = server.ready(Some(START_PATIENCE)).await.unwrap_err();
        assert_eq!(why, "it has not answered for 5 minutes");
    }

    #[tokio::test(start_paused = true)]
    async fn a_port_that_another_program_took_is_said_before_the_start() {
        let folder = tempfile::tempdir().unwrap();
        let taken = TcpListener::bind(address(0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        let launch = Launch { port, ..launch(folder.path()) };
        let programs = Programs::write(folder.path()).unwrap();
        let why = launch.start(&programs).await.unwrap_err();
        assert_eq!(why, format!("another program uses the port {port}"));
    }
}
