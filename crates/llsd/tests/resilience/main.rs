//! What the operator withstands: restarts, crashes, other leaders, a broken object, what v0.9 left
//! behind.

mod adoption;
mod api_client;
mod crash;
mod crash_safety;
mod election;
mod guarded_watch;
mod health_and_metrics;
mod leadership;
mod leadership_with_client_go;
mod metrics_readers;
mod namespaced_mode;
mod operator_at_rest;
mod operator_high_availability;
mod shutdown_signals;
