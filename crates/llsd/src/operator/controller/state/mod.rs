//! What the operator knows and remembers between two reconciles. Losing any of it costs time, never
//! correctness.

pub mod api_error;
pub mod bundles;
pub mod cache;
pub mod configuration;
pub mod memory;
pub mod queue;
pub mod rights;
pub mod scope;
pub mod served;
pub mod settings;
pub mod synced;
pub mod turns;
pub mod watched;
