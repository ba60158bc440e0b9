//! Pods really run.

mod deployments;
mod lifecycle;
mod setup;
