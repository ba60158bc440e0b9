//! The lines of `llsd up` between those of the server.

use std::io::{self, Write};

use crate::command::colours;

/// A line on stderr, which shows whose it is.
pub(super) fn say(text: &str) {
    raw(&format!("llsd: {text}\n"));
}

/// Findings, in the form of all commands.
pub(super) fn raw(text: &str) {
    let mut stderr = io::stderr().lock();
    // There is nowhere left to report that stderr itself fails.
    let _ = stderr.write_all(colours::for_stderr(text.to_owned()).as_bytes());
    let _ = stderr.flush();
}

/// An error and what to do about it, as the text of a printout.
pub(super) fn with_remedy(message: &str, remedy: &str) -> String {
    format!("{message}\n    → {remedy}")
}
