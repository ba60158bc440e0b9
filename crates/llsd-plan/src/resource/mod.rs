//! The resource: read once, for every step from planning to the status; what it asks for, and the record of
//! what a pod template was made from.

mod annotations;
pub mod callers;
pub(crate) mod embedded;
pub mod external;
pub mod image;
mod key;
mod parsed;
pub mod template_inputs;

pub use annotations::{APPROVE, PAUSED, PREFLIGHT, REFRESH, RETRY, ROLLBACK_TO, SKIP};
pub use key::Key;
pub use parsed::{Resource, spec_of};
