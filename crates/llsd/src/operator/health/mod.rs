//! What the kubelet and Prometheus ask over HTTP: `/healthz`, `/readyz` and `/metrics`. Nothing
//! else is served here, and nothing is changed by asking.

mod alive;
mod listeners;
mod readers;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use llsd_install::names::METRICS_PATH;

use crate::operator::shutdown::Shutdown;
use crate::operator::telemetry::Metrics;
use crate::operator::telemetry::metrics;

pub use alive::Alive;
pub use listeners::{BindAddress, BindError, Listeners, bind};
pub use readers::Readers;

/// Whether this replica can serve: its webhooks, from its start on, and while it leads, whether it sees
/// any resource at all. What else it cannot do is told by figures and conditions, so that one missing
/// right does not take conversion down. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Ready {
    serves: Arc<AtomicBool>,
    blind: Arc<Mutex<Option<String>>>,
}

impl Ready {
    pub fn set(&self) {
        self.serves.store(true, Ordering::Relaxed);
    }

    pub fn is_set(&self) -> bool {
        self.serves.load(Ordering::Relaxed)
    }

    /// Why the leader sees no resource at all; nothing when it does, or does not lead.
    pub fn set_blind(&self, why: Option<String>) {
        *self.blind.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    pub fn blind(&self) -> Option<String> {
        self.blind.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What the answers are made from.
#[derive(Clone, Debug)]
pub struct Health {
    pub alive: Alive,
    pub ready: Ready,
    pub shutdown: Shutdown,
    pub metrics: Metrics,
    /// Those who may read the figures; everybody, where they are not named.
    pub readers: Option<Readers>,
}

impl Health {
    fn probes(&self) -> Router {
        let (alive, health) = (self.alive.clone(), self.clone());
        Router::new()
            .route("/healthz", get(async move || healthz(&alive)))
            .route("/readyz", get(async move || health.readyz()))
    }

    fn figures(&self) -> Router {
        let health = self.clone();
        let answer = async move |headers: HeaderMap| health.metrics(&headers).await;
        Router::new().route(METRICS_PATH, get(answer))
    }

    async fn metrics(&self, headers: &HeaderMap) -> Response {
        let judged = match &self.readers {
            Some(readers) => readers.judge(headers).await,
            None => StatusCode::OK,
        };
        match judged {
            StatusCode::OK => {
                ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], self.metrics.text()).into_response()
            }
            StatusCode::UNAUTHORIZED => (judged, [(WWW_AUTHENTICATE, "Bearer")]).into_response(),
            other => other.into_response(),
        }
    }

    fn readyz(&self) -> impl IntoResponse + use<> {
        if self.shutdown.is_requested() {
            (StatusCode::SERVICE_UNAVAILABLE, "ending\n".to_owned())
        } else if !self.ready.is_set() {
            (StatusCode::SERVICE_UNAVAILABLE, "starting\n".to_owned())
        } else if let Some(why) = self.ready.blind() {
            (StatusCode::SERVICE_UNAVAILABLE, format!("no resource can be seen: {why}\n"))
        } else {
            (StatusCode::OK, "ok\n".to_owned())
        }
    }
}

fn healthz(alive: &Alive) -> (StatusCode, String) {
    let silent = alive.silent_for();
    if silent <= alive.limit() {
        (StatusCode::OK, "ok\n".to_owned())
    } else {
        let message = format!("the main loop has been stuck for {} s\n", silent.as_secs());
        (StatusCode::INTERNAL_SERVER_ERROR, message)
    }
}
