//! The probe: asks Redis for a sign of life through a running proxy.

use std::net::SocketAddr;
use std::time::Duration;

use thiserror::Error;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::failure::Failure;
use super::resp;

/// What a probe found. The proxy's own log has more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CheckError {
    #[error("no proxy listens there")]
    NoProxy,
    #[error("no answer in time")]
    NoAnswer,
    #[error("Redis refuses the user or the password")]
    WrongPassword,
    #[error("Redis asks for a password, and the proxy was given none")]
    PasswordNeeded,
    #[error("Redis cannot be used; the proxy's log says why")]
    Unusable,
}

/// Whether a client of the proxy at `address` would be served.
pub async fn check(address: SocketAddr, patience: Duration) -> Result<(), CheckError> {
    timeout(patience, ask(address)).await.unwrap_or(Err(CheckError::NoAnswer))
}

async fn ask(address: SocketAddr) -> Result<(), CheckError> {
    let mut proxy = TcpStream::connect(address).await.map_err(|_| CheckError::NoProxy)?;
    let mut ping = Vec::new();
    resp::command(&mut ping, &[b"PING"]);
    proxy.write_all(&ping).await.map_err(|_| CheckError::Unusable)?;
    match resp::expect(&mut proxy, &["+PONG"]).await {
        // These are the proxy's words when all its places are taken. Then it is at work, and the
        // probe must not take the pod away.
        Ok(()) | Err(Failure::RedisFull) => Ok(()),
        Err(Failure::WrongPassword) => Err(CheckError::WrongPassword),
        Err(Failure::PasswordNeeded) => Err(CheckError::PasswordNeeded),
        Err(_) => Err(CheckError::Unusable),
    }
}
