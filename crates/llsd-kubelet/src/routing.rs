//! Whether a pod gets connections of its Services. As in a cluster that is known late: the API server
//! tells whoever keeps the lists of endpoints, and they tell the proxies of all nodes, while the pod
//! itself is stopped at once.

use std::{sync::Arc, time::Duration};

use tokio::time::sleep;

use crate::record::Record;

/// So late connections follow a pod's state; proxies gather changes for a second alone.
pub(crate) const LATE: Duration = Duration::from_secs(2);

/// Keeps up with a pod until it is deleted.
pub(crate) async fn follow(record: Arc<Record>) {
    let mut snapshot = record.snapshot.subscribe();
    loop {
        let (ready, terminating) = {
            let now = snapshot.borrow_and_update();
            (now.ready(), now.terminating)
        };
        let wanted = ready && !terminating;
        if wanted != record.is_routed() {
            sleep(LATE).await;
            record.set_routed(wanted);
        }
        if terminating || snapshot.changed().await.is_err() {
            return;
        }
    }
}
