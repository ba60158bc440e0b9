//! Locks in the cache, which every `llsd` of a user shares.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::time::sleep;

use super::say::say;

/// Held while something is installed, which another `llsd` waits for. The kernel releases it when the process ends.
pub(super) async fn lock(file: &Path, installed: &str) -> Result<File, String> {
    let wrong = |error: io::Error| format!("{}: {error}", file.display());
    let held = File::options().create(true).truncate(false).write(true).open(file);
    let held = held.map_err(wrong)?;
    let mut has_said = false;
    loop {
        match held.try_lock() {
            Ok(()) => return Ok(held),
            Err(TryLockError::Error(error)) => return Err(wrong(error)),
            Err(TryLockError::WouldBlock) if !has_said => {
                has_said = true;
                say(&format!("another llsd installs {installed}; waiting for it"));
            }
            Err(TryLockError::WouldBlock) => {}
        }
        sleep(Duration::from_millis(300)).await;
    }
}
