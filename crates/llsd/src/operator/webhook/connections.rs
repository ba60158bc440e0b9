//! The connections of the webhook server: how each begins with TLS, is served, and ends. What is
//! asked over them is none of this file's concern.
//!
//! Anybody in the cluster can connect. So a connection gets little time for its handshake, and when
//! there are too many, the oldest must go: the API server can always connect again.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::callers::{Caller, Callers};
use crate::operator::shutdown::Shutdown;

/// Beyond this many, the oldest is asked to end for each new one.
const CONNECTIONS: usize = 256;

const HANDSHAKE: Duration = Duration::from_secs(5);

/// How long a connection without HTTP/2 may rest between requests. The API server gives up after
/// 90 s, and must be the first: a request sent at the moment of our end would fail.
const IDLE: Duration = Duration::from_secs(100);

/// How often a connection with HTTP/2 is asked whether it lives.
const PING: Duration = Duration::from_secs(20);

/// How long a connection that is to end may take to have its requests answered.
const LAST_ANSWERS: Duration = Duration::from_secs(10);

/// How long a connection that came after the end was asked for has for its request.
const LATE: Duration = Duration::from_secs(1);

/// What every connection is served with.
#[derive(Clone)]
pub(super) struct Terms {
    pub(super) tls: TlsAcceptor,
    pub(super) router: Router,
    /// Identifies callers; without it no caller is known.
    pub(super) callers: Option<Arc<Callers>>,
    pub(super) shutdown: Shutdown,
}

#[derive(Debug, Default)]
pub(super) struct Connections {
    tasks: JoinSet<()>,
    /// Those that were not asked to end, the oldest first; dropping one asks it to.
    open: VecDeque<oneshot::Sender<Infallible>>,
}

impl Connections {
    pub(super) fn begin(&mut self, stream: TcpStream, terms: &Terms) {
        while self.tasks.try_join_next().is_some() {}
        self.open.retain(|connection| !connection.is_closed());
        if self.open.len() >= CONNECTIONS {
            self.open.pop_front();
        }
        let (open, displaced) = oneshot::channel();
        self.open.push_back(open);
        self.tasks.spawn(connection(stream, terms.clone(), displaced));
    }

    /// Waits until there are few enough to take another one.
    pub(super) async fn room(&mut self) {
        while self.tasks.len() >= 2 * CONNECTIONS {
            self.tasks.join_next().await;
        }
    }

    /// Waits until all have ended, which they do in good time by themselves.
    pub(super) async fn ended(mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}

async fn connection(
    stream: TcpStream,
    Terms { tls, router, callers, shutdown }: Terms,
    displaced: oneshot::Receiver<Infallible>,
) {
    let late = shutdown.is_requested();
    let ending = async {
        tokio::select! {
            _ = displaced => {}
            () = shutdown.requested(), if !late => {}
            () = sleep(LATE), if late => {}
        }
    };
    tokio::pin!(ending);
    let stream = tokio::select! {
        () = &mut ending => return,
        stream = timeout(HANDSHAKE, tls.accept(stream)) => match stream {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return tracing::debug!(%error, "a TLS handshake failed"),
            Err(_) => return tracing::debug!("a TLS handshake took too long"),
        },
    };
    let session = stream.get_ref().1;
    let caller =
        callers.map_or(Caller::Unknown, |known| known.identify(session.peer_certificates()));
    let service = TowerToHyperService::new(router.layer(Extension(caller)));
    let http = http(session.alpn_protocol() == Some(b"h2"));
    let connection = http.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    tokio::select! {
        _ = &mut connection => return,
        () = &mut ending => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = timeout(LAST_ANSWERS, connection).await;
}

fn http(http2: bool) -> auto::Builder<TokioExecutor> {
    let mut http = auto::Builder::new(TokioExecutor::new());
    http.http1().timer(TokioTimer::new()).header_read_timeout(IDLE).max_buf_size(64 << 10);
    http.http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING)
        .keep_alive_timeout(PING / 2)
        // What waits unread is not counted among the bodies, so it has to be little.
        .initial_stream_window_size(128 << 10)
        .initial_connection_window_size(256 << 10)
        .max_concurrent_streams(100);
    // The handshake has settled which of the two is used, so that nobody waits for a first byte.
    if http2 { http.http2_only() } else { http.http1_only() }
}
