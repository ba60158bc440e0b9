//! Somebody else's healthy resource, which no fault may delay.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::namespace::Namespace;

/// What a healthy resource may take at most on a busy machine of two cores. Without a fault it takes
/// seven to nine seconds, five of which its pod has to be ready for; an operator that was killed just now
/// waits up to fifteen for its lease.
const UNDELAYED: Duration = Duration::from_secs(45);

/// Makes a resource in this namespace, which is not that of the fault, and waits until it is Ready.
pub async fn becomes_ready(namespace: &Namespace<'_>) {
    let begun = Instant::now();
    namespace.distribution("neighbour", json!({"distribution": {"name": "starter"}})).await;
    namespace.until_ready("neighbour").await;
    let taken = begun.elapsed();
    assert!(taken < UNDELAYED, "the neighbour was Ready after {taken:?}");
}
