//! Runs one plugin: a request on its standard input, a response from its standard output, bounded
//! in size and time. Nothing that it prints is ever repeated.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use super::cache::Scope;
use super::config::ProviderConfig;
use crate::credentials::{Credential, Keyring};
use crate::settings::duration;

/// A response holds a few tokens.
const MAX_OUTPUT_BYTES: u64 = 1024 * 1024;

/// A plugin that did not answer. Names the provider, never what it printed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("credential provider {provider}: {failure}")]
pub struct PluginError {
    pub provider: String,
    pub failure: PluginFailure,
}

/// Why a plugin did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PluginFailure {
    #[error("could not be started: {0}")]
    NotStarted(std::io::ErrorKind),
    #[error("did not answer within {} s", .0.as_secs_f32())]
    TimedOut(Duration),
    #[error("ended with {}", .0.map_or_else(|| "a signal".to_owned(), |code| format!("exit code {code}")))]
    Exited(Option<i32>),
    #[error("printed more than {MAX_OUTPUT_BYTES} bytes")]
    TooMuchOutput,
    #[error("did not print a CredentialProviderResponse")]
    NotAResponse,
    #[error("answered in another apiVersion than {0}, which the configuration asks for")]
    OtherVersion(String),
    #[error("answered without a cacheKeyType of Image, Registry or Global")]
    NoCacheKeyType,
    #[error("the pipe to it broke")]
    Interrupted,
}

/// A plugin's answer.
pub(super) struct Response {
    pub(super) scope: Scope,
    pub(super) cache_duration: Option<Duration>,
    pub(super) entries: Vec<(String, Credential)>,
}

#[derive(Debug)]
pub(super) struct Program {
    binary: PathBuf,
    pub(super) time_limit: Duration,
}

impl Program {
    pub(super) fn find(
        bin_dir: &Path,
        config: &ProviderConfig,
        time_limit: Duration,
    ) -> Result<Self, String> {
        let binary = bin_dir.join(&config.name);
        match binary.metadata() {
            Ok(file) if file.is_file() && file.permissions().mode() & 0o111 != 0 => {
                Ok(Self { binary, time_limit })
            }
            Ok(_) => Err(format!("{} is not an executable file", binary.display())),
            Err(error) => Err(format!("{}: {}", binary.display(), error.kind())),
        }
    }

    pub(super) async fn run(
        &self,
        config: &ProviderConfig,
        image: &str,
    ) -> Result<Response, PluginFailure> {
        let request = json!({
            "apiVersion": config.api_version,
            "kind": "CredentialProviderRequest",
            "image": image,
        });
        // The environment is inherited, as the kubelet does: cloud plugins look for their identity
        // there. Standard error goes nowhere, because plugins print tokens in their traces.
        let mut child = Command::new(&self.binary)
            .args(&config.args)
            .envs(config.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| PluginFailure::NotStarted(error.kind()))?;
        let output =
            tokio::time::timeout(self.time_limit, exchange(&mut child, request.to_string()))
                .await
                .map_err(|_| PluginFailure::TimedOut(self.time_limit))??;
        read_response(&output, &config.api_version)
    }
}

async fn exchange(child: &mut Child, request: String) -> Result<Vec<u8>, PluginFailure> {
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(PluginFailure::Interrupted);
    };
    let write = async move {
        // A plugin may answer without reading the request; its exit code tells whether all is well.
        let _ = stdin.write_all(request.as_bytes()).await;
    };
    let mut output = Vec::new();
    let mut stdout = stdout.take(MAX_OUTPUT_BYTES + 1);
    let ((), read) = tokio::join!(write, stdout.read_to_end(&mut output));
    read.map_err(|_| PluginFailure::Interrupted)?;
    if output.len() as u64 > MAX_OUTPUT_BYTES {
        return Err(PluginFailure::TooMuchOutput);
    }
    let status = child.wait().await.map_err(|_| PluginFailure::Interrupted)?;
    if status.success() { Ok(output) } else { Err(PluginFailure::Exited(status.code())) }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawResponse {
    api_version: String,
    kind: String,
    #[serde(default)]
    cache_key_type: serde_json::Value,
    cache_duration: Option<String>,
    auth: Option<BTreeMap<String, RawAuth>>,
}

#[derive(Deserialize)]
struct RawAuth {
    #[serde(default)]
    username: String,
    #[serde(default)]
    password: String,
}

fn read_response(output: &[u8], api_version: &str) -> Result<Response, PluginFailure> {
    let raw: RawResponse =
        serde_json::from_slice(output).map_err(|_| PluginFailure::NotAResponse)?;
    if raw.kind != "CredentialProviderResponse" {
        return Err(PluginFailure::NotAResponse);
    }
    if raw.api_version != api_version {
        return Err(PluginFailure::OtherVersion(api_version.to_owned()));
    }
    let scope =
        serde_json::from_value(raw.cache_key_type).map_err(|_| PluginFailure::NoCacheKeyType)?;
    let cache_duration = match raw.cache_duration {
        None => None,
        Some(text) => Some(duration(&text).ok_or(PluginFailure::NotAResponse)?),
    };
    let entries = raw.auth.unwrap_or_default().into_iter().filter(|(key, auth)| {
        Keyring::accepts(key) && !(auth.username.is_empty() && auth.password.is_empty())
    });
    let entries = entries
        .map(|(key, auth)| {
            (key, Credential::Basic { username: auth.username, password: auth.password })
        })
        .collect();
    Ok(Response { scope, cache_duration, entries })
}
