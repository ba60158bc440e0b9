//! Pods really run.

mod deployments;
mod lifecycle;
mod like_a_real_node;
mod setup;
