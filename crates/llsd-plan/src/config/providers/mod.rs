//! `spec.providers`: laid over the base's, each with the type and the configuration that the release has
//! for it.

mod configuration;
pub(super) mod gone;
mod needs;
mod overlay;
mod removed;
mod telemetry;
mod type_of;

pub(super) use gone::{instead_of, last_of_llama_stack};
pub(super) use overlay::{apply, place, serve};
