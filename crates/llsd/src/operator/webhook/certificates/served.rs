//! The certificate that is served, which changes while connections are open: each handshake takes
//! the one of its moment.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::server::danger::ClientCertVerifier;
use tokio_rustls::rustls::server::{ClientHello, NoClientAuth, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{self, ServerConfig};

use super::certificate::{Leaf, certified};

/// What is served now; nothing at first, and then handshakes fail.
#[derive(Default)]
pub struct Served(RwLock<Option<Arc<CertifiedKey>>>);

impl Served {
    /// From now on this one.
    pub fn serve(&self, leaf: &Leaf) -> Result<(), &'static str> {
        let certified = certified(leaf)?;
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(certified));
        Ok(())
    }

    fn now(&self) -> Option<Arc<CertifiedKey>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Served({})", if self.now().is_some() { "a certificate" } else { "nothing" })
    }
}

impl ResolvesServerCert for Served {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.now()
    }
}

/// TLS 1.2 and later, with whatever is served at the time of a handshake. Callers are asked for a
/// certificate only where a client checks it.
pub fn server_config(
    served: Arc<Served>,
    callers: Option<Arc<dyn ClientCertVerifier>>,
) -> Result<ServerConfig, rustls::Error> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    Ok(ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(callers.unwrap_or_else(|| Arc::new(NoClientAuth)))
        .with_cert_resolver(served))
}
