//! The pure core: validation and planning, with no I/O, no clock and no client.

pub mod coercion;
pub mod config;
pub mod connection;
pub mod document;
pub mod facts;
pub mod objects;
pub mod problem;
mod suggest;
pub mod validate;
