//! The client of the API server: every request is counted, every ordinary one is over within a time,
//! and connections that nobody needs are closed. Requests and answers stay as they are.

use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody, to_bytes};
use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Method, Request, Response, Uri};
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::ConfigExt;
use kube::client::retry::RetryPolicy;
use thiserror::Error;
use tokio::time::timeout;
use tower::retry::RetryLayer;
use tower::{BoxError, Layer, Service, ServiceBuilder};

use super::metrics::Metrics;
use super::traces;
use crate::operator::api_clock::ApiClock;

/// What is read from a connection at once: as much as TLS puts into one record. By itself hyper takes
/// more and more, and keeps it for as long as the connection lives.
const READ_SIZE: usize = 16 * 1024;

/// How long to wait for the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For a connection, TLS included.
    pub connect: Duration,
    /// For the whole answer to an ordinary request, and for the beginning of a watch.
    pub request: Duration,
    /// For the next byte of a watch. kube asks the server to end each watch after 290 s, so one
    /// that is silent for longer is not quiet, its connection is dead.
    pub silence: Duration,
    /// For the next request on a connection. Each takes some 60 KB.
    pub idle: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            request: Duration::from_secs(30),
            silence: Duration::from_secs(295),
            idle: Duration::from_secs(8),
        }
    }
}

/// A request that took too long. Whether the API server did what it was asked is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the API server did not answer within {0:?}")]
pub struct NoAnswer(pub Duration);

/// A client that counts what it asks for, and sets the clock by what it hears.
pub fn client(
    config: kube::Config,
    metrics: &Metrics,
    clock: &ApiClock,
) -> kube::Result<kube::Client> {
    patient_client(config, metrics, clock, Patience::default())
}

/// The same with other times. The layers are kube's own; kube builds them around connections that it
/// keeps for ever, which is why they are put together here.
pub fn patient_client(
    config: kube::Config,
    metrics: &Metrics,
    clock: &ApiClock,
    patience: Patience,
) -> kube::Result<kube::Client> {
    if let Some(proxy_url) = config.proxy_url {
        let proxy_url = Box::new(proxy_url);
        return Err(kube::Error::ProxyProtocolUnsupported { proxy_url });
    }
    let mut connector = TimeoutConnector::new(config.rustls_https_connector()?);
    connector.set_connect_timeout(Some(patience.connect));
    connector.set_read_timeout(Some(patience.silence));
    connector.set_write_timeout(Some(patience.request));
    let connections = legacy::Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(patience.idle)
        .http1_read_buf_exact_size(READ_SIZE)
        .build(connector);
    let service = ServiceBuilder::new()
        .layer(ApiCalls {
            metrics: metrics.clone(),
            clock: clock.clone(),
            patience: patience.request,
        })
        .layer(config.base_uri_layer())
        .layer(RetryLayer::new(RetryPolicy::server_retry()))
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(connections);
    Ok(kube::Client::new(service, config.default_namespace))
}

/// The outermost layer. A request that is repeated because the API server was too busy counts once,
/// with its last answer.
#[derive(Clone, Debug)]
struct ApiCalls {
    metrics: Metrics,
    clock: ApiClock,
    patience: Duration,
}

impl<S> Layer<S> for ApiCalls {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Counted { inner, calls: self.clone() }
    }
}

#[derive(Debug)]
struct Counted<S> {
    inner: S,
    calls: ApiCalls,
}

impl<S, Q, A> Service<Request<Q>> for Counted<S>
where
    S: Service<Request<Q>, Response = Response<A>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    A: HttpBody<Data = Bytes> + Send + 'static,
    A::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        let verb = verb(request.method(), request.uri());
        let is_endless = asks_for(request.uri(), "watch") || asks_for(request.uri(), "follow");
        let span = traces::request(verb, request.uri().path());
        let answer = self.inner.call(request);
        let ApiCalls { metrics, clock, patience } = self.calls.clone();
        async move {
            let answer = timeout(patience, whole(answer, is_endless, &clock)).await;
            let answer = answer.unwrap_or_else(|_| Err(NoAnswer(patience).into()));
            let code = answer.as_ref().ok().map(|answer| answer.status().as_u16());
            metrics.api_request(verb, code);
            traces::answered(&span, code);
            answer
        }
        .boxed()
    }
}

/// The answer with its whole body, which may stop in its midst too; a watch, or a log that is followed, has
/// no end to wait for.
async fn whole<A, E>(
    answer: impl Future<Output = Result<Response<A>, E>>,
    is_endless: bool,
    clock: &ApiClock,
) -> Result<Response<Body>, BoxError>
where
    E: Into<BoxError>,
    A: HttpBody<Data = Bytes> + Send + 'static,
    A::Error: Into<BoxError>,
{
    let (head, body) = answer.await.map_err(Into::into)?.into_parts();
    clock.read(&head.headers);
    let mut body = Body::new(body);
    if !is_endless || !head.status.is_success() {
        body = Body::from(to_bytes(body, usize::MAX).await?);
    }
    Ok(Response::from_parts(head, body))
}

/// The verb as roles name it, but for `deletecollection`, which counts as `delete`.
fn verb(method: &Method, uri: &Uri) -> &'static str {
    match *method {
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ if asks_for(uri, "watch") => "watch",
        _ if is_collection(uri.path()) => "list",
        _ => "get",
    }
}

fn asks_for(uri: &Uri, what: &str) -> bool {
    let mut query = uri.query().unwrap_or_default().split('&');
    query.any(|pair| matches!(pair.strip_prefix(what), Some("" | "=true" | "=1")))
}

/// `/api/v1/<plural>`, `/apis/<group>/<version>/<plural>`, and both within a namespace.
fn is_collection(path: &str) -> bool {
    let segments: Vec<_> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let (["api", _, resource @ ..] | ["apis", _, _, resource @ ..]) = segments.as_slice() else {
        return false;
    };
    matches!(resource, [_] | ["namespaces", _, _])
        // Of the namespace itself, and not within it.
        && !matches!(resource, ["namespaces", _, "status" | "finalize"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_told_apart_as_roles_do() {
        let lsd = "/apis/llamastack.io/v1alpha2";
        for (method, uri, expected) in [
            (Method::GET, "/version".to_owned(), "get"),
            (Method::GET, "/apis".to_owned(), "get"),
            (Method::GET, "/apis/apps/v1".to_owned(), "get"),
            (Method::GET, "/api/v1".to_owned(), "get"),
            (Method::GET, "/api/v1/namespaces".to_owned(), "list"),
            (Method::GET, "/api/v1/namespaces/a".to_owned(), "get"),
            (Method::GET, "/api/v1/namespaces/a/status".to_owned(), "get"),
            (Method::GET, "/api/v1/secrets".to_owned(), "list"),
            (Method::GET, "/api/v1/namespaces/a/secrets".to_owned(), "list"),
            (Method::GET, "/api/v1/namespaces/a/secrets/watch?x=watch".to_owned(), "get"),
            (Method::GET, format!("{lsd}/namespaces/a/llamastackdistributions/b/status"), "get"),
            (Method::GET, format!("{lsd}/llamastackdistributions?limit=500"), "list"),
            (Method::GET, format!("{lsd}/llamastackdistributions?limit=5&watch=true"), "watch"),
            (Method::GET, format!("{lsd}/llamastackdistributions?&watch=1"), "watch"),
            (Method::GET, format!("{lsd}/llamastackdistributions?watch=false"), "list"),
            (Method::GET, "/api/v1/namespaces/a/pods/b/log?follow=true".to_owned(), "get"),
            (Method::POST, "/api/v1/namespaces/a/events".to_owned(), "create"),
            (Method::PUT, "/api/v1/namespaces/a/configmaps/b".to_owned(), "update"),
            (Method::PATCH, "/api/v1/namespaces/a/configmaps/b".to_owned(), "patch"),
            (Method::DELETE, "/api/v1/namespaces/a/configmaps".to_owned(), "delete"),
        ] {
            let parsed: Uri = uri.parse().unwrap();
            assert_eq!(verb(&method, &parsed), expected, "{method} {uri}");
        }
    }
}
