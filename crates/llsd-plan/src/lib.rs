//! The pure core: validation and planning, with no I/O, no clock and no client.

pub mod admission;
pub mod config;
pub mod facts;
pub mod fingerprint;
pub mod live;
pub mod migrate;
pub mod objects;
pub mod plan;
pub mod policy;
pub mod problems;
pub mod releases;
pub mod resource;
pub mod rollout;
pub mod server;
pub mod status;
pub mod validate;
pub mod values;
