//! What the test of crashes is made of.

pub mod namespace;
pub mod snapshot;
