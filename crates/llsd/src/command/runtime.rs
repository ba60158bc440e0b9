//! What a command waits on while it asks a cluster or a registry.

use tokio::runtime::{Builder, Runtime};

/// A runtime of one thread, or what to print where there is none.
pub(super) fn runtime() -> Result<Runtime, String> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| format!("cannot start: {error}"))
}
