//! Ways to talk to a running API server: clients, kubeconfig files and the real kubectl.

use std::{
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::{Mutex, PoisonError},
};

use anyhow::Context;
use kube::{Client, Config};
use serde_json::json;
use tokio::{
    io::AsyncWriteExt,
    process::Command,
    runtime::{self, Handle},
};

use crate::{
    audit_log::AuditLog,
    pki::{Identity, Pki},
};

/// The group whose members may do everything.
pub const MASTERS: &str = "system:masters";

/// The address of an API server and the authority that vouches for it.
pub(crate) struct Access {
    pub(crate) pki: Pki,
    pub(crate) dir: PathBuf,
    pub(crate) port: u16,
    pub(crate) audit_log: Mutex<AuditLog>,
    /// Tests ask for a client whenever they look at something, and a certificate with a new TLS
    /// session takes more time than the question.
    clients: Mutex<HashMap<ClientKey, Client>>,
}

/// A client belongs to the runtime that it was made in.
type ClientKey = (runtime::Id, String, String);

impl Access {
    pub(crate) fn new(pki: Pki, dir: PathBuf, port: u16) -> Self {
        Self { pki, dir, port, audit_log: Mutex::default(), clients: Mutex::default() }
    }

    pub(crate) fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// A client as one user. It belongs to the runtime that this is called in.
    pub(crate) fn client(&self, user: &str, groups: &[&str]) -> anyhow::Result<Client> {
        let key = (Handle::current().id(), user.to_owned(), groups.join(","));
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&key) {
            return Ok(client.clone());
        }
        let client = Client::try_from(self.config(user, groups)?)?;
        clients.insert(key, client.clone());
        Ok(client)
    }

    /// Connections to an API server that was killed are of no use any more.
    pub(crate) fn forget_clients(&self) {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    pub(crate) fn config(&self, user: &str, groups: &[&str]) -> anyhow::Result<Config> {
        let identity = self.pki.client(user, groups)?;
        let mut config = Config::new(self.url().parse()?);
        config.root_cert = Some(vec![self.pki.authority_der()]);
        config.auth_info.client_certificate = Some(path_text(&identity.certificate)?);
        config.auth_info.client_key = Some(path_text(&identity.key)?);
        Ok(config)
    }

    /// A kubeconfig file as one user, in the folder of the control plane.
    pub(crate) fn kubeconfig(&self, user: &str, groups: &[&str]) -> anyhow::Result<PathBuf> {
        let identity = self.pki.client(user, groups)?;
        let path = self.dir.join(identity.stem()).with_extension("kubeconfig");
        let content = self.kubeconfig_content(user, &identity);
        std::fs::write(&path, serde_json::to_vec_pretty(&content)?)?;
        Ok(path)
    }

    /// JSON, which every reader of YAML reads.
    fn kubeconfig_content(&self, user: &str, identity: &Identity) -> serde_json::Value {
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "contexts": [{ "name": "test", "context": { "cluster": "test", "user": user } }],
            "clusters": [{
                "name": "test",
                "cluster": {
                    "server": self.url(),
                    "certificate-authority": self.pki.authority_file(),
                },
            }],
            "users": [{
                "name": user,
                "user": {
                    "client-certificate": identity.certificate,
                    "client-key": identity.key,
                },
            }],
        })
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("dir", &self.dir).finish_non_exhaustive()
    }
}

/// What a run of kubectl said.
#[derive(Debug, Clone)]
pub struct Kubectl {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Kubectl {
    /// Runs a kubectl with a kubeconfig; `home` is where it may keep what it remembers.
    pub async fn run(
        program: &Path,
        kubeconfig: &Path,
        home: &Path,
        args: &[&str],
        stdin: Option<&str>,
    ) -> anyhow::Result<Self> {
        let mut child = Command::new(program)
            .args(args)
            .env("KUBECONFIG", kubeconfig)
            // Its discovery cache is per server address, and ports are used again.
            .env("HOME", home)
            .env("KUBECACHEDIR", home.join("kubectl-cache"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot run {}", program.display()))?;
        let mut input = child.stdin.take().context("stdin was asked for")?;
        let write = async {
            // kubectl may end without reading all of it, and its answer is what counts then.
            let _ = input.write_all(stdin.unwrap_or_default().as_bytes()).await;
            drop(input);
        };
        let ((), output) = tokio::join!(write, child.wait_with_output());
        let output = output?;
        Ok(Self {
            status: output.status,
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    pub fn success(&self) -> bool {
        self.status.success()
    }

    /// Standard output of a run that must have gone well.
    #[track_caller]
    pub fn expect_success(self) -> String {
        assert!(self.success(), "kubectl failed: {}", self.stderr.trim());
        self.stdout
    }
}

fn path_text(path: &Path) -> anyhow::Result<String> {
    let text = path.to_str().context("the temporary folder's path is not text")?;
    Ok(text.to_owned())
}
