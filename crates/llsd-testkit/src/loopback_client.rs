//! The HTTP client for servers on loopback.

use reqwest::{Certificate, Client};

/// A client that uses no proxy and trusts nobody but the `authority` in PEM: without one it reads no
/// certificates at all.
pub fn client(authority: Option<&str>) -> anyhow::Result<Client> {
    crate::install_crypto_provider();
    let trusted = authority.map(|pem| Certificate::from_pem(pem.as_bytes())).transpose()?;
    Ok(Client::builder().no_proxy().tls_certs_only(trusted).build()?)
}
