//! A proxy beside a server that can neither sign in to Redis nor speak TLS: it listens on loopback,
//! opens a connection to Redis for each that comes in, signs in, and passes bytes.
//!
//! What passes is never looked at, and neither it nor the password is ever written anywhere. Redis
//! being away never ends the process: clients get an error, and the next one is tried again.

mod check;
mod failure;
mod journal;
mod relay;
mod resp;
mod target;
mod trust;
mod upstream;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

pub use check::{CheckError, check};
pub use target::{Target, TargetError};
pub use trust::TrustError;
pub use upstream::{Password, Times, Upstream};

use failure::Failure;
use journal::Journal;
use upstream::Stream;

/// Refused clients that are waited for until they have read why. Beyond, they are closed at once.
const REFUSALS: usize = 64;

/// What bounds the proxy.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at a time; more are refused at once.
    pub connections: u32,
    /// How long open connections may go on after the order to stop.
    pub grace: Duration,
}

#[derive(Debug)]
struct Proxy {
    upstream: Upstream,
    journal: Journal,
}

/// Serves until `stop` resolves, then waits until all clients have gone, or the grace is over.
pub async fn serve(
    listener: TcpListener,
    upstream: Upstream,
    limits: Limits,
    stop: impl Future<Output = ()>,
) {
    announce(&listener, &upstream);
    let proxy = Arc::new(Proxy { upstream, journal: Journal::default() });
    let places = Arc::new(Semaphore::new(limits.connections as usize));
    let refusals = Arc::new(Semaphore::new(REFUSALS));
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => accepted,
        };
        let Ok((client, _)) = accepted else {
            proxy.failed(Failure::Accept);
            // File descriptors do not come back by trying again in a hot loop.
            sleep(Duration::from_millis(100)).await;
            continue;
        };
        if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
            let proxy = Arc::clone(&proxy);
            tokio::spawn(async move {
                proxy.attend(client).await;
                drop(place);
            });
        } else {
            proxy.failed(Failure::ProxyFull);
            if let Ok(refusal) = Arc::clone(&refusals).try_acquire_owned() {
                tokio::spawn(async move {
                    relay::refuse(client, Failure::ProxyFull).await;
                    drop(refusal);
                });
            } else {
                relay::refuse_at_once(&client, Failure::ProxyFull);
            }
        }
    }
    // Nobody should wait in the queue of a listener that accepts no more.
    drop(listener);
    let open = limits.connections as usize - places.available_permits();
    journal::line(&format!("stopping; {open} open connections"));
    // All places free means that nobody is left.
    if timeout(limits.grace, places.acquire_many(limits.connections)).await.is_err() {
        let open = limits.connections as usize - places.available_permits();
        journal::line(&format!("the grace is over; closing {open} connections"));
    }
}

fn announce(listener: &TcpListener, upstream: &Upstream) {
    let address = listener.local_addr().map_or_else(|_| "?".to_owned(), |found| found.to_string());
    let target = upstream.target();
    let tls = if target.uses_tls() { " with TLS" } else { "" };
    journal::line(&format!("listening on {address} for {target}{tls}"));
}

impl Proxy {
    /// Serves one client from its first byte to its last.
    async fn attend(&self, client: TcpStream) {
        let stream = match self.upstream.open().await {
            Ok(stream) => stream,
            Err(failure) => {
                self.failed(failure);
                return relay::refuse(client, failure).await;
            }
        };
        self.journal.served(self.upstream.target());
        let passed = match stream {
            Stream::Plain(redis) => passed(client, redis).await,
            Stream::Tls(redis) => passed(client, redis).await,
        };
        // Connections end in all sorts of ways that concern nobody. But a server that wants a
        // client certificate says so in TLS 1.3 only after the handshake.
        if let Err(error) = passed
            && let Some(failure) = Failure::of_tls(&error)
        {
            self.failed(failure);
        }
    }

    fn failed(&self, failure: Failure) {
        self.journal.failed(self.upstream.target(), failure);
    }
}

async fn passed(
    client: TcpStream,
    redis: impl tokio::io::AsyncRead + tokio::io::AsyncWrite,
) -> io::Result<()> {
    upstream::prepare(&client)?;
    relay::pass(client, redis).await
}
