//! Reads a distribution's base configuration out of its image in a registry.

pub mod credentials;
pub mod mirrors;
pub mod settings;
