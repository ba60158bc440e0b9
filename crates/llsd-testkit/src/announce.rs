//! What takes long says so: minutes of silence look like a hang.

use std::io::Write;

/// The subject of what concerns the programs of a control plane.
pub(crate) const CONTROL_PLANE: &str = "control plane";

/// One line on standard error, past the capture of the test harness.
pub fn announce(subject: &str, line: &str) {
    // Nobody could read that standard error is closed.
    let _ = writeln!(std::io::stderr(), "{subject}: {line}");
}
