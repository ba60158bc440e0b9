//! Between planning and applying: what of a plan may reach a running server now. Pure; whoever applies
//! carries out what is decided here and decides nothing.
//!
//! - A server is not restarted for what its user did not ask for: while the resource is unchanged its
//!   image keeps its digest and its sidecar keeps its image ([`Held`]), and a Deployment of an earlier
//!   operator keeps its template and is only marked as ours.
//! - Objects of somebody else are left alone, and one that is being deleted is waited for.
//! - A volume never shrinks, and one that is to be kept is nobody's.
//! - What is no longer asked for stays as long as pods need it ([`retention`]).

mod action;
mod adopted;
mod claim;
mod decide;
mod held;
mod instead;
mod refusal;
pub mod retention;

pub use action::Action;
pub use decide::{Beforehand, Decision, Rollout, Running, decide, keeps_template};
pub use held::{Held, PinnedImage};
pub use refusal::{Refused, WriteFailure};
