//! Times as the API server writes them.

use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

/// A time in seconds, if it is one.
pub(crate) fn seconds(time: &Value) -> Option<i64> {
    let time: Timestamp = time.as_str()?.parse().ok()?;
    Some(time.as_second())
}
