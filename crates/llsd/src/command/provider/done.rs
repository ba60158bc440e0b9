//! What each of these commands comes to.

use crate::command::Exit;
use crate::command::registry_access::Failure;

/// The text for stdout and how the command ended, or why it came to nothing.
pub(super) type Done = Result<(String, Exit), Failure>;
