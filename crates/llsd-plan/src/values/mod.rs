//! The formats of single values: connection strings, names of images, quantities and hashes.

pub mod connection;
pub mod image_name;
pub mod quantity;
pub mod sha256;
