//! The user's own docker configuration, as `docker login` leaves it: credentials in the file itself,
//! or kept by helper programs. Helpers are run because the file is the user's; those that a Secret
//! names never are.

use std::path::PathBuf;

use llsd_registry::Reference;
use llsd_registry::credentials::pull_secret::Reason;
use llsd_registry::credentials::{Credential, Keyring, PullSecret};
use serde_json::{Map, Value};

use super::credential_helper;
use super::failure::Remarks;

/// The name under which docker keeps the login of Docker Hub.
const DOCKER_HUB_LOGIN: &str = "https://index.docker.io/v1/";

/// What the user is logged in to.
#[derive(Debug, Default)]
pub(super) struct DockerLogin {
    keyring: Keyring,
    /// Helpers by registry.
    helpers: Map<String, Value>,
    /// The helper for all other registries.
    store: Option<String>,
}

impl DockerLogin {
    /// Reads `$DOCKER_CONFIG/config.json`, else `~/.docker/config.json`; without one, all access is
    /// anonymous.
    pub(super) fn of_user(remarks: &mut Remarks) -> Self {
        let Some(file) = config_file() else { return Self::default() };
        let name = file.display().to_string();
        match std::fs::read(&file) {
            Ok(document) => Self::parse(&name, &document, remarks),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Self::default(),
            Err(error) => {
                remarks.warn(&format!("{name}: {error}"));
                Self::default()
            }
        }
    }

    fn parse(name: &str, document: &[u8], remarks: &mut Remarks) -> Self {
        let file = PullSecret::docker_config(name, document);
        for note in file.notes().iter().filter(|note| note.reason != Reason::Helper) {
            remarks.warn(&note.to_string());
        }
        let mut login = Self::default();
        file.add_to(&mut login.keyring);
        let Ok(root) = serde_json::from_slice::<Map<String, Value>>(document) else { return login };
        if let Some(Value::Object(helpers)) = root.get("credHelpers") {
            login.helpers.clone_from(helpers);
        }
        login.store = root.get("credsStore").and_then(Value::as_str).map(str::to_owned);
        login.store = login.store.filter(|store| !store.is_empty());
        login
    }

    /// The credentials for a repository, the most fitting one first.
    pub(super) async fn credentials(
        &self,
        reference: &Reference,
        remarks: &mut Remarks,
    ) -> Vec<Credential> {
        let mut found = Vec::new();
        let host = reference.host();
        let server = if host == "docker.io" { DOCKER_HUB_LOGIN } else { host };
        let own = [server, host].iter().find_map(|key| self.helpers.get(*key)?.as_str());
        if let Some(helper) = own.or(self.store.as_deref()) {
            match credential_helper::get(helper, server).await {
                Ok(credential) => found.extend(credential),
                Err(failure) => remarks.warn(&failure.to_string()),
            }
        }
        for credential in self.keyring.candidates(&reference.name()) {
            if !found.contains(&credential) {
                found.push(credential);
            }
        }
        found
    }
}

fn config_file() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let folder = match set("DOCKER_CONFIG") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(set("HOME")?).join(".docker"),
    };
    Some(folder.join("config.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_file_is_a_warning_that_repeats_nothing_of_it() {
        for document in ["not json s3cret", r#"{"auths": {"a.io": {"auth": "s3cret"}}}"#] {
            let mut remarks = Remarks::default();
            let login = DockerLogin::parse("config.json", document.as_bytes(), &mut remarks);
            assert!(login.keyring.is_empty());
            assert!(remarks.0.starts_with("warning: config.json"), "{}", remarks.0);
            assert!(!remarks.0.contains("s3cret"));
        }
    }

    #[test]
    fn helpers_are_no_reason_for_a_warning_here() {
        let mut remarks = Remarks::default();
        let document = r#"{"credsStore": "desktop", "credHelpers": {"a.io": "ecr-login"}}"#;
        let login = DockerLogin::parse("config.json", document.as_bytes(), &mut remarks);
        assert_eq!(remarks.0, "");
        assert_eq!(login.store.as_deref(), Some("desktop"));
        assert_eq!(login.helpers["a.io"], "ecr-login");
    }
}
