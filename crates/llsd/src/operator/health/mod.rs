//! What the kubelet and Prometheus ask over HTTP: `/healthz`, `/readyz` and `/metrics`. Nothing
//! else is served here, and nothing is changed by asking.

mod alive;
mod listeners;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;

use crate::operator::shutdown::Shutdown;
use crate::operator::telemetry::Metrics;
use crate::operator::telemetry::metrics;

pub use alive::Alive;
pub use listeners::{BindAddress, BindError, Listeners, bind};

/// Whether this replica can serve; set once.
#[derive(Clone, Debug, Default)]
pub struct Ready(Arc<AtomicBool>);

impl Ready {
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What the answers are made from.
#[derive(Clone, Debug)]
pub struct Health {
    pub alive: Alive,
    pub ready: Ready,
    pub shutdown: Shutdown,
    pub metrics: Metrics,
}

impl Health {
    fn probes(&self) -> Router {
        let (alive, health) = (self.alive.clone(), self.clone());
        Router::new()
            .route("/healthz", get(async move || healthz(&alive)))
            .route("/readyz", get(async move || health.readyz()))
    }

    fn figures(&self) -> Router {
        let figures = self.metrics.clone();
        let answer = async move || ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], figures.text());
        Router::new().route("/metrics", get(answer))
    }

    fn readyz(&self) -> impl IntoResponse + use<> {
        if self.shutdown.is_requested() {
            (StatusCode::SERVICE_UNAVAILABLE, "ending\n")
        } else if self.ready.is_set() {
            (StatusCode::OK, "ok\n")
        } else {
            (StatusCode::SERVICE_UNAVAILABLE, "starting\n")
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
