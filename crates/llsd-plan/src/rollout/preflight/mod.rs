//! A change that would replace the pods of a running server is checked first, by the very image that it would
//! run: a Job says what the server thinks of its configuration, and only then is the Deployment changed.
//!
//! - A first rollout has nothing to protect; nor has one of a server of which no pod is available.
//! - What an image says is remembered in the status, and asked again only for another combination of
//!   image, file, packages and variables, or when `llamastack.io/retry` gets a new value.
//! - What cannot be checked is rolled out all the same, with a warning; so is what a user asks not to check.
//! - Only so many Jobs go on at a time; namespaces take turns ([`Slots`]).

mod gate;
mod provenance;
mod question;
mod result;
mod seen;
mod slots;

pub use gate::{Asked, NotMade, Preflight, State, decide};
pub use provenance::field_of;
pub use question::{Question, may_need_preflight};
pub use result::{Finding, PreflightResult};
pub use seen::Seen;
pub use slots::{JobsUnderWay, Slots, Urgency};
