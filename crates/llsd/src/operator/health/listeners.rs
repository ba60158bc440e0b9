//! Where the answers are served: one address for the probes and one for the figures, as release 0.9
//! has them. Either can be left out.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use axum::Router;
use thiserror::Error;
use tokio::net::TcpListener;

use super::Health;

/// As in release 0.9: `:8080` is that port on all addresses, `0` or nothing is none at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindAddress {
    Nowhere,
    /// On all addresses of both families, or of the one that there is.
    Everywhere(u16),
    At(String),
}

impl FromStr for BindAddress {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let port = text.strip_prefix(':').and_then(|port| port.parse().ok());
        Ok(match (text, port) {
            ("" | "0", _) => Self::Nowhere,
            (_, Some(port)) => Self::Everywhere(port),
            _ => Self::At(text.to_owned()),
        })
    }
}

#[derive(Debug, Error)]
#[error("cannot listen on {address}: {source}")]
pub struct BindError {
    address: String,
    source: io::Error,
}

/// Both addresses, taken but not served yet.
#[derive(Debug)]
pub struct Listeners {
    probes: Option<TcpListener>,
    metrics: Option<TcpListener>,
}

impl Listeners {
    pub async fn bind(probes: &BindAddress, metrics: &BindAddress) -> Result<Self, BindError> {
        Ok(Self { probes: bind(probes).await?, metrics: bind(metrics).await? })
    }

    /// Where the probes are served: says which port it became when port 0 was asked for.
    pub fn probes(&self) -> Option<SocketAddr> {
        self.probes.as_ref().and_then(|listener| listener.local_addr().ok())
    }

    pub fn metrics(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().and_then(|listener| listener.local_addr().ok())
    }

    /// Serves as long as it is polled. Should go on while the process ends, so that it is not
    /// taken for dead.
    pub async fn serve(self, health: Health) -> io::Result<()> {
        let probes = serve(self.probes, health.probes());
        let metrics = serve(self.metrics, health.figures());
        tokio::try_join!(probes, metrics).map(drop)
    }
}

/// Takes an address; none where nothing is to be served.
pub async fn bind(address: &BindAddress) -> Result<Option<TcpListener>, BindError> {
    let listener = match address {
        BindAddress::Nowhere => return Ok(None),
        BindAddress::At(address) => TcpListener::bind(address).await,
        BindAddress::Everywhere(port) => {
            match TcpListener::bind((Ipv6Addr::UNSPECIFIED, *port)).await {
                // A node may have no IPv6 at all.
                Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
                    TcpListener::bind((Ipv4Addr::UNSPECIFIED, *port)).await
                }
                listener => listener,
            }
        }
    };
    match listener {
        Ok(listener) => Ok(Some(listener)),
        Err(source) => Err(BindError { address: address.to_string(), source }),
    }
}

async fn serve(listener: Option<TcpListener>, router: Router) -> io::Result<()> {
    match listener {
        Some(listener) => axum::serve(listener, router).await,
        None => std::future::pending().await,
    }
}

impl std::fmt::Display for BindAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nowhere => f.write_str("0"),
            Self::Everywhere(port) => write!(f, ":{port}"),
            Self::At(address) => f.write_str(address),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_in_release_0_9() {
        for (text, expected) in [
            ("0", BindAddress::Nowhere),
            ("", BindAddress::Nowhere),
            (":8080", BindAddress::Everywhere(8080)),
            (":0", BindAddress::Everywhere(0)),
            ("127.0.0.1:8080", BindAddress::At("127.0.0.1:8080".to_owned())),
            ("[::1]:8080", BindAddress::At("[::1]:8080".to_owned())),
            ("localhost:8080", BindAddress::At("localhost:8080".to_owned())),
        ] {
            let read: BindAddress = text.parse().unwrap();
            assert_eq!(read, expected);
            assert_eq!(read.to_string(), if text.is_empty() { "0" } else { text });
        }
    }
}
