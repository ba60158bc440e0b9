//! The campaign on a thread of its own: work that takes all the time that the operator gets must not
//! cost it the Lease.

use std::io;
use std::thread;

use tokio::sync::oneshot;

use super::{ElectionSettings, Leadership, campaign};

/// Stands for election as [`campaign`] does, with a client and a runtime of its own; the second of the
/// two completes when the campaign has ended.
pub fn stand<E: From<io::Error>>(
    connect: impl FnOnce() -> Result<kube::Client, E>,
    settings: ElectionSettings,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(Leadership, impl Future<Output = ()>), E> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // A client belongs to the runtime that it is made in.
    let within = runtime.enter();
    let client = connect()?;
    drop(within);
    let (leadership, running) = campaign(client, settings, stop);
    let (end, ended) = oneshot::channel::<()>();
    thread::Builder::new().name("leadership".to_owned()).spawn(move || {
        runtime.block_on(running);
        drop(end);
    })?;
    Ok((leadership, async { drop(ended.await) }))
}
