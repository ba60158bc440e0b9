//! The annotations by which people ask something of a resource.

use crate::problems::{FieldPath, Findings, Reason};

/// On the resource: when its value changes, the image is resolved again and what waited is applied.
pub const REFRESH: &str = "llamastack.io/refresh";

/// On the resource: when its value changes, what an upgrade of the operator holds back is applied.
pub const APPROVE: &str = "llamastack.io/approve";
/// On the resource: when its value changes, what was rolled back is tried again.
pub const RETRY: &str = "llamastack.io/retry";

/// On the resource: when its value changes, the server goes back to the kept state whose hash is its
/// first word, and stays there until the spec changes.
pub const ROLLBACK_TO: &str = "llamastack.io/rollback-to";

/// On the resource: while it is `true`, nothing is written for it but its status.
pub const PAUSED: &str = "llamastack.io/paused";

/// On the resource: while it is [`SKIP`], changes are rolled out without a preflight.
pub const PREFLIGHT: &str = "llamastack.io/preflight";
/// The only value of [`PREFLIGHT`].
pub const SKIP: &str = "skip";

/// Warns of a value that is not the one that [`PREFLIGHT`] has: who writes it is in a hurry.
pub(super) fn warn_of_preflight(value: Option<&str>, findings: &mut Findings) {
    let Some(value) = value.filter(|value| !value.is_empty() && *value != SKIP) else { return };
    let path = FieldPath::root().key("metadata").key("annotations").key(PREFLIGHT);
    let message = format!("{value:?} has no effect, and changes are checked as usual");
    let remedy = format!("write `{SKIP}` to roll changes out unchecked, or remove the annotation");
    findings.warning(&path, Reason::Ignored, message, remedy);
}
