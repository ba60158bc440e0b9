//! The pure core: validation and planning, with no I/O, no clock and no client.

pub mod access;
pub mod admission;
pub mod callers;
pub mod coercion;
pub mod config;
pub mod connection;
pub mod external;
pub mod facts;
pub mod fingerprint;
pub mod image;
pub mod inputs;
pub mod installation;
pub mod live;
pub mod migrate;
pub mod objects;
pub mod paths;
pub mod plan;
pub mod policy;
pub mod problem;
pub mod quantity;
pub mod references;
pub mod releases;
pub mod resource;
pub mod rollout;
mod secrets;
pub mod sha256;
pub mod shape;
pub mod status;
mod substitution;
pub mod suggest;
pub mod takeover;
pub mod validate;
pub mod wiring;

pub use llsd_yaml::document;
