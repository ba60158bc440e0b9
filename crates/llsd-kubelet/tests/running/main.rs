//! Pods really run.

mod bed;
mod deployments;
mod lifecycle;
