//! Between planning and applying: what of a plan may reach a running server now. Pure; whoever applies
//! carries out what is decided here and decides nothing.
//!
//! - A server is not restarted for what its user did not ask for: while the resource's own inputs
//!   ([`crate::resource::template_inputs`]) are unchanged, its image keeps its digest
//!   ([`RunningServer`]) and its Deployment the template that it has ([`keeps_template`]); one of an earlier
//!   operator is only marked as ours.
//! - Where no pod of its template was ever available, there is nothing to protect: what another operator would
//!   write is applied.
//! - What would replace pods is checked by its own image first ([`preflight`]).
//! - What does not become available in time goes back to the last good template, once ([`returns_to`]).
//! - Where no pod is available, old pods go before new ones come.
//! - A change of inputs that several resources share reaches a few servers at a time ([`wave`]).
//! - An edit of `image-overrides` is a change of the resources whose distribution it names.
//! - Objects of somebody else are left alone, and one that is being deleted is waited for.
//! - A volume never shrinks, and one that is to be kept is nobody's.
//! - What the servers of a namespace share is made again where pods mount it, and never run if it is not what its
//!   name says ([`shared`]).
//! - What is no longer asked for stays as long as pods need it ([`retention`]).

mod action;
mod adopted;
mod causes;
mod claim;
mod contention;
mod decide;
mod difference;
mod grant;
mod guard;
mod inquiry;
mod instead;
mod kept;
mod led_astray;
mod old_pods_first;
pub mod preflight;
mod records;
mod refusal;
mod rename;
pub mod retention;
mod rollback;
mod running_server;
pub mod shared;
mod still_read;
pub mod storage_secrets;
mod unchanged;
pub mod unknown_hashes;
mod unplanned;
pub mod wave;

pub use action::Action;
pub use causes::changed_inputs;
pub use claim::bound_to_resource;
pub use contention::{Contention, LEFT_ALONE, contention};
pub use decide::{Beforehand, ClusterState, Decision, Rollout, decide};
pub use grant::{ca_bundle_elsewhere, granted, runs_with_bundle};
pub use inquiry::{Inquiry, RunningImage};
pub use kept::{KeepCause, KeptTemplate, keeps_template};
pub use led_astray::{decide_surroundings, led_astray};
pub use refusal::{Refused, WriteFailure};
pub use rollback::{Back, OPEN, Return, failed_rollout, fails_in, returns_to, template_of};
pub use running_server::{PinnedImage, RunningServer};
pub use still_read::{keys_on_record, still_read};
pub use unplanned::{decide_programs, decide_unplanned};
