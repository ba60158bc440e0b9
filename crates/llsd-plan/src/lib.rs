//! The pure core: validation and planning, with no I/O, no clock and no client.

pub mod connection;
pub mod document;
pub mod facts;
pub mod objects;
pub mod problem;
pub mod validate;
