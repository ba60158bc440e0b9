//! Every object that the operator owns, planned from one [`Blueprint`], one file each; `pod` and
//! `exposure` hold what belongs to those. Names, labels, selectors, volumes and paths are those of
//! the Go operator's v0.9, so that its objects are taken over as they are.

mod autoscaler;
mod blueprint;
pub mod ca_bundle;
pub mod config_map;
mod deployment;
mod disruption_budget;
mod exposure;
pub mod image_record;
mod kind;
pub mod labels;
pub mod names;
mod network_policy;
mod planned;
mod pod;
pub mod preflight_inputs;
pub mod preflight_job;
mod replacement;
pub mod service;
mod service_account;
mod service_monitor;
pub mod start_program;
pub mod storage_secret;
mod volume_claim;

pub use crate::facts::DEFAULT_OPERATOR_IMAGE;
pub use blueprint::{Blueprint, ConfigCopy, ConfigSource, DEFAULT_PORT};
pub use exposure::{CATCH_ALL, REQUEST_TIMEOUT};
pub use kind::{ObjectKind, Role};
pub use planned::{Objects, PlannedObject, account, objects, surroundings, withheld};
pub use pod::TRUST;
