//! The operator: what `llsd run` starts and keeps running.

pub mod api_clock;
mod background;
mod backoff;
mod bounded;
pub mod controller;
pub mod health;
mod key_proof;
pub mod leadership;
pub mod shutdown;
pub mod storage_migration;
pub mod telemetry;
pub mod webhook;
