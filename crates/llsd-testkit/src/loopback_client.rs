//! The HTTP client for servers on loopback.

use reqwest::{Certificate, Client};

/// A client that uses no proxy and, with an `authority` in PEM, trusts that one alone.
pub(crate) fn client(authority: Option<&str>) -> anyhow::Result<Client> {
    crate::install_crypto_provider();
    let mut builder = Client::builder().no_proxy();
    if let Some(pem) = authority {
        builder = builder.tls_certs_only([Certificate::from_pem(pem.as_bytes())?]);
    }
    Ok(builder.build()?)
}
