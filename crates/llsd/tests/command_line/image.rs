//! What the tests of `llsd image` share: a user with a docker configuration, the built program, and
//! skopeo, which reads images independently of it.

use std::path::Path;
use std::process::Command;

use llsd_plan::releases::Distribution;
use llsd_registry::mirrors::{HostPattern, Registries};
use llsd_registry::{BaseConfig, Config, Credential, Image, Reference, Registry};
use llsd_testkit::{RegistryServer, User, debian_program};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const INLINE: &str = "io.llamastack.config.base64";
pub(crate) const LAYER: &str = "io.llamastack.config.layer";
pub(crate) const PATH: &str = "io.llamastack.config.path";
pub(crate) const VERSION: &str = "io.llamastack.config.version";

/// A configuration that a server runs with.
pub(crate) fn configuration() -> &'static str {
    Distribution::all()["starter"].base()
}

/// The same, too large for a label.
pub(crate) fn large_configuration() -> String {
    format!("{}\n{}", configuration(), "# and so on, line after line\n".repeat(2_000))
}

pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// The digest that the command printed.
    pub(crate) fn digest(&self) -> String {
        assert_eq!(self.code, 0, "{}", self.stderr);
        self.stdout.trim().to_owned()
    }
}

/// Someone at a command line.
pub(crate) struct Person {
    home: TempDir,
    variables: Vec<(String, String)>,
}

impl Person {
    /// Without any login.
    pub(crate) fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap(), variables: Vec::new() }
    }

    /// Logged in by this docker configuration.
    pub(crate) fn with_docker_config(config: &Value) -> Self {
        let person = Self::new();
        std::fs::create_dir(person.home.path().join(".docker")).unwrap();
        std::fs::write(person.file(".docker/config.json"), config.to_string()).unwrap();
        person
    }

    /// As `docker login` leaves it.
    pub(crate) fn logged_in(server: &RegistryServer, user: &User) -> Self {
        use base64::{Engine, prelude::BASE64_STANDARD};
        let auth = BASE64_STANDARD.encode(format!("{}:{}", user.name, user.password));
        Self::with_docker_config(&json!({ "auths": { server.host(): { "auth": auth } } }))
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.home.path().join(name).display().to_string()
    }

    pub(crate) fn write(&self, name: &str, content: &str) -> String {
        std::fs::write(self.home.path().join(name), content).unwrap();
        self.file(name)
    }

    pub(crate) fn set(&mut self, variable: &str, value: &str) {
        self.variables.push((variable.to_owned(), value.to_owned()));
    }

    /// Runs `llsd image …`.
    pub(crate) async fn image(&self, arguments: &[&str]) -> Run {
        self.run("image", arguments).await
    }

    /// Runs `llsd provider …`.
    pub(crate) async fn provider(&self, arguments: &[&str]) -> Run {
        self.run("provider", arguments).await
    }

    /// Runs beside this test, whose registry must answer meanwhile.
    async fn run(&self, name: &str, arguments: &[&str]) -> Run {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("llsd"));
        command.arg(name).args(arguments).env("HOME", self.home.path());
        for name in ["DOCKER_CONFIG", "SSL_CERT_FILE", "SSL_CERT_DIR", "NO_PROXY", "no_proxy"] {
            command.env_remove(name);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        Run {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// What skopeo says; `what` is `--config` or `--raw`.
pub(crate) async fn skopeo(
    server: &RegistryServer,
    user: Option<&User>,
    what: &[&str],
    image: &str,
) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let program = debian_program("skopeo", "skopeo").unwrap();
    let mut command = Command::new(program);
    command.args(["--override-arch", "amd64", "inspect"]).args(what);
    match server.authority() {
        None => {
            command.arg("--tls-verify=false");
        }
        Some(pem) => {
            std::fs::write(folder.path().join("ca.crt"), pem).unwrap();
            command.arg("--cert-dir").arg(folder.path());
        }
    }
    match user {
        Some(user) => command.arg("--creds").arg(format!("{}:{}", user.name, user.password)),
        None => command.arg("--no-creds"),
    };
    command.arg(format!("docker://{image}"));
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The image as the operator reads it.
pub(crate) async fn as_operator(
    server: &RegistryServer,
    user: Option<&User>,
    image: &str,
) -> std::sync::Arc<Image> {
    let mut registries = Registries::default();
    let only = |host: &str| HostPattern::parse(host).unwrap();
    registries.allow_private(HostPattern::every());
    match server.authority() {
        Some(pem) => registries.trust(only(server.host()), pem).unwrap(),
        None => registries.allow_plain_http(only(server.host())),
    }
    if let Some(host) = server.token_host() {
        registries.allow_plain_http(only(host));
    }
    let registry = Registry::new(Config { registries, ..Config::default() });
    let credentials: Vec<Credential> = user
        .map(|user| Credential::Basic {
            username: user.name.clone(),
            password: user.password.clone(),
        })
        .into_iter()
        .collect();
    let reference: Reference = image.parse().unwrap();
    registry.find(&reference, &credentials).await.unwrap()
}

pub(crate) fn base(image: &Image) -> BaseConfig {
    image.base.clone().unwrap().expect("a configuration")
}

/// A program that the person's PATH finds before all others.
pub(crate) fn install(folder: &Path, name: &str, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    let file = folder.join(name);
    std::fs::write(&file, script).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
}
