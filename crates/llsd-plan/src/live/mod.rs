//! What the cluster holds of a resource's objects.

mod claim;
mod deployment;
mod job;
mod object;
mod outside;
mod time;

pub use claim::ClaimDetail;
pub use deployment::{DeploymentDetail, DeploymentState, RecordedHashes};
pub use job::JobDetail;
pub use object::{Detail, LiveObject, version};
