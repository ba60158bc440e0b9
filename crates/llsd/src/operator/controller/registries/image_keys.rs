//! The public keys that images are signed with, from a Secret in the operator's namespace. They are read again
//! from time to time, and only if the operator's configuration asks for signatures.

use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use llsd_registry::signature::VerifyingKey;

use crate::operator::controller::state::ImageKeys;
use llsd_install::names::IMAGE_KEYS_SECRET;

/// How soon a key that was added or taken away is noticed.
pub const REFRESH: Duration = Duration::from_mins(1);

/// Reads the keys; none where there is no such Secret. What is no key is left out, and logged by its name.
pub async fn fetch(client: &Client, namespace: &str) -> kube::Result<ImageKeys> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let found = secrets.get_opt(IMAGE_KEYS_SECRET).await?;
    let mut keys = ImageKeys::new();
    for (name, text) in found.and_then(|found| found.data).unwrap_or_default() {
        match VerifyingKey::parse(&String::from_utf8_lossy(&text.0)) {
            Ok(key) => _ = keys.insert(name, key),
            Err(problem) => {
                tracing::warn!(key = name, %problem, "Secret {IMAGE_KEYS_SECRET} holds what is no public key");
            }
        }
    }
    Ok(keys)
}
