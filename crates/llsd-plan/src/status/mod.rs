//! The resource's status and the events of one reconcile, computed from what was observed.

mod observed;

pub use observed::*;
