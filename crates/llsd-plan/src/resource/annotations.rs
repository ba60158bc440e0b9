//! The annotations by which people ask something of a resource.

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
