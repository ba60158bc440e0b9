//! Stands in for scheduler and kubelet, by decision: no container ever runs.

mod stand_in;
mod state;
mod status;

pub use stand_in::Kubelet;
pub use state::PodState;
