//! A token provider that runs beside the server.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use llsd_testkit::{Release, free_port};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::PATIENCE;

/// The password that the server shows to the provider.
pub(super) const CLIENT_SECRET: &str = "planted-client-secret";

pub(super) struct Issuer {
    pub(super) url: String,
    /// One for each of the claims.
    pub(super) tokens: Vec<String>,
    process: Child,
    folder: TempDir,
}

impl Issuer {
    /// Runs on the Python of a release, which can sign. `claims` get the provider's own name for the
    /// name that they are given.
    pub(super) async fn start(release: Release, claims: impl FnOnce(&str) -> Value) -> Self {
        let folder = TempDir::new().unwrap();
        let path = |name: &str| folder.path().join(name);
        let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        fs::write(path("tls.crt"), certified.cert.pem()).unwrap();
        fs::write(path("tls.key"), certified.signing_key.serialize_pem()).unwrap();
        fs::write(path("issuer.py"), include_str!("issuer.py")).unwrap();
        let port = free_port().unwrap();
        let url = format!("https://127.0.0.1:{port}");
        fs::write(path("claims.json"), claims(&url).to_string()).unwrap();
        let process = Command::new(release.install().unwrap().python())
            .arg(path("issuer.py"))
            .arg(folder.path())
            .arg(port.to_string())
            .args([path("tls.crt"), path("tls.key")])
            .arg(&url)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        let tokens = loop {
            if let Ok(text) = fs::read_to_string(path("tokens.json")) {
                break serde_json::from_str(&text).unwrap();
            }
            assert!(begun.elapsed() < PATIENCE, "the provider does not start");
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        };
        Self { url, tokens, process, folder }
    }

    /// Shows the keys of another provider in place of its own.
    pub(super) fn show_keys(&self, keys: &str) {
        fs::write(self.folder.path().join("keys.json"), keys).unwrap();
    }

    /// The authority of its certificate.
    pub(super) fn authority(&self) -> PathBuf {
        self.folder.path().join("tls.crt")
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Claims of a token that is valid for an hour.
pub(super) fn claims(issuer: &str, who: &str, groups: &[&str]) -> Value {
    let now = jiff::Timestamp::now().as_second();
    json!({"iss": issuer, "aud": "stack", "sub": who, "groups": groups, "exp": now + 3600})
}
