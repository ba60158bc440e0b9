//! Requests to the API server: where it keeps what the operator works on, and objects as they are read.

pub mod api;
pub mod object;
mod shallow;
