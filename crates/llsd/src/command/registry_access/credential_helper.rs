//! Asks one of docker's credential helpers, `docker-credential-<name> get`: the registry on its
//! standard input, the credential as JSON on its standard output. Nothing that it prints is repeated.

use std::process::Stdio;
use std::time::Duration;

use llsd_registry::Credential;
use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

/// A helper may ask the user to unlock a keychain.
const TIME_LIMIT: Duration = Duration::from_mins(2);
const MAX_OUTPUT_BYTES: u64 = 1 << 20;
/// What helpers print, by convention, where they know nothing.
const NOT_FOUND: &str = "credentials not found in native keychain";
/// By convention, the secret beside this user name is a token.
const TOKEN_USER: &str = "<token>";

/// Why a helper gave nothing.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HelperFailure {
    helper: String,
    why: String,
}

impl std::fmt::Display for HelperFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "docker-credential-{} {}", self.helper, self.why)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HelperAnswer {
    #[serde(default)]
    username: String,
    #[serde(default)]
    secret: String,
}

/// What the helper knows for `server`, as docker names it.
pub(super) async fn get(helper: &str, server: &str) -> Result<Option<Credential>, HelperFailure> {
    let failure = |why: String| HelperFailure { helper: helper.to_owned(), why };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if helper.is_empty() || !helper.bytes().all(is_name) {
        let helper = "…".to_owned();
        return Err(HelperFailure { helper, why: "is not run: its name is none".to_owned() });
    }
    let mut child = Command::new(format!("docker-credential-{helper}"))
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| failure(format!("could not be started: {}", error.kind())))?;
    let exchange = exchange(&mut child, server);
    let (output, succeeded) = match tokio::time::timeout(TIME_LIMIT, exchange).await {
        Err(_) => return Err(failure(format!("did not answer in {} s", TIME_LIMIT.as_secs()))),
        Ok(Err(error)) => return Err(failure(format!("broke off: {}", error.kind()))),
        Ok(Ok(answer)) => answer,
    };
    if !succeeded {
        let said = String::from_utf8_lossy(&output);
        if said.trim() == NOT_FOUND {
            return Ok(None);
        }
        return Err(failure("failed".to_owned()));
    }
    let answer: HelperAnswer = serde_json::from_slice(&output)
        .map_err(|_| failure("did not print a credential".to_owned()))?;
    Ok(match answer {
        HelperAnswer { secret, .. } if secret.is_empty() => None,
        HelperAnswer { username, secret } if username == TOKEN_USER => {
            Some(Credential::IdentityToken(secret))
        }
        HelperAnswer { username, secret } => Some(Credential::Basic { username, password: secret }),
    })
}

async fn exchange(child: &mut Child, server: &str) -> std::io::Result<(Vec<u8>, bool)> {
    if let Some(mut stdin) = child.stdin.take() {
        // A helper that does not read says by its exit whether all is well.
        let _ = stdin.write_all(server.as_bytes()).await;
    }
    let mut output = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(MAX_OUTPUT_BYTES).read_to_end(&mut output).await?;
    }
    let status = child.wait().await?;
    Ok((output, status.success()))
}
