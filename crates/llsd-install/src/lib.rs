//! The installation of the operator: the names that the install files and the running operator must
//! agree on, and the files under `deploy/`, made from code so that they never differ from it. No I/O.

mod bundle;
mod chart;
mod file;
mod files;
mod granting;
mod manager;
pub mod monitoring;
mod named_text;
pub mod names;
mod needed;
mod network_policy;
mod operator_policy;
mod roles;
mod rules;
mod variants;
mod webhook;

pub use bundle::bundle;
pub use chart::charts;
pub use file::{File, yaml};
pub use files::{Install, cluster_wide, files, namespaced};
pub use granting::{GrantingRole, granting_role};
pub use named_text::NamedText;
pub use needed::{NeededRight, OperatorSetup, needed_rights};
