//! The HTTPS server of the webhooks: accepts, routes, bounds and counts. Certificates come ready
//! and are swapped inside the TLS configuration; what is answered is decided by conversion and in
//! `admit`.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Router};
use llsd_api::conversion::review;
use llsd_install::names::{CONVERT_PATH, VALIDATE_CONFIGURATION_PATH, VALIDATE_PATH};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use super::answer::JsonAnswer;
use super::body::{Received, Room};
use super::callers::Caller;
use super::connections::{Connections, Terms};
use super::{Webhooks, admit};
use crate::operator::shutdown::Shutdown;
use crate::operator::telemetry::Call;

/// The API server gives a conversion 30 s, and admission the 10 s of its configuration. What is not
/// answered before that is answered for nobody.
const CONVERT: Duration = Duration::from_secs(25);
const VALIDATE: Duration = Duration::from_secs(8);

/// How many calls are worked on at once; others wait, with their bodies read.
const AT_ONCE: usize = 32;

/// For how long new connections are still taken after the end was asked for: Services go on sending
/// them until every node has heard of it.
const LAME_DUCK: Duration = Duration::from_secs(3);

/// Serves the webhooks until the shutdown is asked for and the last call is answered. Connections
/// that rest are then closed at once, so that callers turn to another replica.
pub async fn serve(
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    webhooks: Webhooks,
    shutdown: Shutdown,
) -> io::Result<()> {
    let mut tls = Arc::unwrap_or_clone(tls);
    // The API server chooses HTTP/1.1 for webhooks, so that its calls are spread over the replicas.
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let terms = Terms {
        tls: TlsAcceptor::from(Arc::new(tls)),
        callers: webhooks.lookups.as_ref().map(|lookups| Arc::clone(&lookups.callers)),
        router: router(webhooks),
        shutdown: shutdown.clone(),
    };
    let mut connections = Connections::default();
    let end = async {
        shutdown.requested().await;
        sleep(LAME_DUCK).await;
    };
    tokio::pin!(end);
    loop {
        connections.room().await;
        tokio::select! {
            () = &mut end => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => connections.begin(stream, &terms),
                // Out of file descriptors, or the caller was gone already: neither lasts.
                Err(error) => {
                    tracing::warn!(%error, "a webhook call could not be accepted");
                    sleep(Duration::from_millis(100)).await;
                }
            },
        }
    }
    drop(listener);
    connections.ended().await;
    Ok(())
}

#[derive(Clone)]
struct Serving {
    webhooks: Webhooks,
    room: Room,
    at_once: Arc<Semaphore>,
}

fn router(webhooks: Webhooks) -> Router {
    let at_once = Arc::new(Semaphore::new(AT_ONCE));
    let serving = Serving { webhooks, room: Room::default(), at_once };
    Router::new()
        .route(CONVERT_PATH, post(convert_review))
        .route(VALIDATE_PATH, post(validate_review))
        .route(VALIDATE_CONFIGURATION_PATH, post(validate_configuration))
        .with_state(serving)
}

async fn convert_review(State(serving): State<Serving>, body: Body) -> Response {
    let work = async |received: Received| spawn_blocking(move || converted(&received.bytes)).await;
    serving.call("convert", CONVERT, body, work).await
}

/// Converts a review. CPU work of up to a second for a full page of large objects.
fn converted(body: &[u8]) -> JsonAnswer {
    match review::answer(body) {
        Ok(answer) => JsonAnswer { status: StatusCode::OK, body: answer, call: Call::Answered },
        Err(refused) => JsonAnswer::no_review(&refused.to_string()),
    }
}

async fn validate_review(
    State(serving): State<Serving>,
    Extension(caller): Extension<Caller>,
    body: Body,
) -> Response {
    let webhooks = serving.webhooks.clone();
    // Reading and deciding is work; only the question to the cluster waits.
    let work = async |received: Received| {
        let runtime = Handle::current();
        let answer = move || runtime.block_on(admit::resource(&received.bytes, &webhooks, caller));
        spawn_blocking(answer).await
    };
    serving.call("validate", VALIDATE, body, work).await
}

async fn validate_configuration(State(serving): State<Serving>, body: Body) -> Response {
    let work = async |received: Received| {
        spawn_blocking(move || admit::configuration(&received.bytes)).await
    };
    serving.call("validate-configuration", VALIDATE, body, work).await
}

impl Serving {
    /// One call from its first byte to its answer, within a time.
    async fn call(
        &self,
        path: &'static str,
        limit: Duration,
        body: Body,
        work: impl AsyncFnOnce(Received) -> Result<JsonAnswer, JoinError>,
    ) -> Response {
        let began = Instant::now();
        let answered = timeout(limit, async {
            let received = match self.room.receive(body).await {
                Ok(received) => received,
                Err(why) => return JsonAnswer::unread(why),
            };
            let Ok(_turn) = self.at_once.acquire().await else { return JsonAnswer::busy() };
            work(received).await.unwrap_or_else(|failure| {
                // The panic itself is in the log already, without what was sent.
                tracing::error!(path, panicked = failure.is_panic(), "a webhook call failed");
                JsonAnswer::plain(StatusCode::INTERNAL_SERVER_ERROR, "this is a bug", Call::Bug)
            })
        });
        let answer = answered.await.unwrap_or_else(|_| JsonAnswer::busy());
        self.webhooks.metrics.webhook_call(path, answer.call, began.elapsed().as_secs_f64());
        answer.into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::telemetry::Metrics;

    #[tokio::test]
    async fn a_panic_is_the_answer_to_its_own_call_only() {
        let serving = Serving {
            webhooks: Webhooks::new(Metrics::new("0")),
            room: Room::default(),
            at_once: Arc::new(Semaphore::new(1)),
        };
        let bug = async |_| spawn_blocking(|| panic!("a bug")).await;
        let failed = serving.call("convert", CONVERT, Body::from("x"), bug).await;
        assert_eq!(failed.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let fine =
            async |received: Received| spawn_blocking(move || converted(&received.bytes)).await;
        let answered = serving.call("convert", CONVERT, Body::from("x"), fine).await;
        assert_eq!(answered.status(), StatusCode::BAD_REQUEST);
        let text = serving.webhooks.metrics.text();
        assert!(text.contains("llsd_webhook_calls_total{path=\"convert\",result=\"bug\"} 1"));
    }
}
