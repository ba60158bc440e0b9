//! What takes long says so: minutes of silence look like a hang.

use std::io::Write;

/// One line on standard error, past the capture of the test harness.
pub(crate) fn announce(subject: &str, line: &str) {
    // Nobody can be told that standard error is closed.
    let _ = writeln!(std::io::stderr(), "{subject}: {line}");
}
