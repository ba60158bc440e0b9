//! The formats of single values: connection strings, quantities and hashes.

pub mod connection;
pub mod quantity;
pub mod sha256;
