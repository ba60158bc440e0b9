//! Whom the proxy believes to be Redis: the authorities of `SSL_CERT_FILE`, else the system's.

use std::sync::Arc;

use thiserror::Error;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

/// TLS cannot be had at all; a matter of the pod, not of Redis.
#[derive(Debug, Error)]
pub enum TrustError {
    #[error("no certificate of an authority could be read; name a PEM file in SSL_CERT_FILE")]
    NoAuthority,
    #[error("TLS cannot be set up: {0}")]
    Unusable(#[from] rustls::Error),
}

/// Reads the authorities once; new ones take a restart.
pub(super) fn config() -> Result<ClientConfig, TrustError> {
    // Looks at SSL_CERT_FILE (and OpenSSL's SSL_CERT_DIR) before the system's places. One broken
    // entry of a bundle does not take the others away.
    let found = rustls_native_certs::load_native_certs();
    let mut authorities = RootCertStore::empty();
    let (usable, _) = authorities.add_parsable_certificates(found.certs);
    if usable == 0 {
        return Err(TrustError::NoAuthority);
    }
    Ok(ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(authorities)
        .with_no_client_auth())
}
