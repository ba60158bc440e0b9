//! What the cluster holds of a resource's objects.

mod claim;
pub mod current_pods;
mod deployment;
pub mod image_pull;
pub mod installation;
mod job;
mod object;
mod outside;
pub(crate) mod pod;
pub mod probe_kill;
pub mod rbac_denial;
mod reads;
pub mod takeover;
mod time;

pub use claim::ClaimDetail;
pub use deployment::{DeploymentDetail, DeploymentState, RecordedHashes};
pub use job::JobDetail;
pub use object::{Detail, LiveObject, version};
pub use reads::{read_part, reads};
pub(crate) use time::seconds;
