//! What the operator knows and remembers between two reconciles. Losing any of it costs time, never
//! correctness.

mod api_error;
mod bundles;
mod cache;
mod configuration;
mod memory;
mod preflight_slots;
mod programs;
mod queue;
mod rights;
mod scope;
mod served;
mod settings;
mod shared_changes;
mod synced;
mod turns;
mod unready;
mod watched;

pub use api_error::{failure, safe_message};
pub use bundles::Bundles;
pub use cache::{Cache, ResourceNews};
pub use configuration::{Configuration, CurrentConfiguration, ImageKeys};
pub use memory::{KillCause, Memory};
pub use preflight_slots::PreflightSlots;
pub use programs::StartPrograms;
pub use queue::{Next, Queue};
pub use rights::{Denials, Rights};
pub use scope::{Part, Scope};
pub use served::{MIRRORS, ServedKinds};
pub use settings::Settings;
pub use shared_changes::{Consequences, SharedChanges};
pub use synced::{Synced, Watch};
pub use turns::Turns;
pub use unready::Unready;
pub use watched::{Trouble, Watched};
