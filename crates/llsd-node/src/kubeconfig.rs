//! Files by which programs and people reach the API server, each with a certificate of its own.

use std::{fs, path::Path};

use base64::{Engine, prelude::BASE64_STANDARD};
use llsd_testkit::Pki;
use serde_json::json;

/// A file for `user` in `groups`. The certificates are in it, so that it can be copied elsewhere.
pub(crate) fn write(
    file: &Path,
    server: &str,
    pki: &Pki,
    user: &str,
    groups: &[&str],
) -> anyhow::Result<()> {
    let identity = pki.client(user, groups)?;
    let data = |path: &Path| fs::read(path).map(|bytes| BASE64_STANDARD.encode(bytes));
    // JSON, which every reader of YAML reads.
    let content = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "node",
        "contexts": [{"name": "node", "context": {"cluster": "node", "user": user}}],
        "clusters": [{"name": "node", "cluster": {
            "server": server,
            "certificate-authority-data": data(&pki.authority_file())?,
        }}],
        "users": [{"name": user, "user": {
            "client-certificate-data": data(&identity.certificate)?,
            "client-key-data": data(&identity.key)?,
        }}],
    });
    fs::write(file, serde_json::to_vec_pretty(&content)?)?;
    Ok(())
}
