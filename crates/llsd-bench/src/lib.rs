//! What the operator costs, measured from outside on a real API server with Deployments that are Ready at once. The
//! programs in `bin` share what is here: the resources, the floor, the stand-in for pods, the operator as a process.

#![allow(clippy::cast_precision_loss, reason = "figures for people")]

pub mod api;
pub mod floor;
pub mod hostile;
pub mod operator;
pub mod picture;
pub mod readiness;
pub mod sample;
pub mod table;
pub mod webhooks;

/// Resources that are worked on at the same time, by the operator and by the bare client.
pub const CONCURRENCY: usize = 16;
