//! Why and when the containers of a pod have to end.

use std::time::Duration;

use tokio::sync::watch;

/// Why a pod's containers have to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The pod was deleted; they have this long to end by themselves.
    Deleted(Duration),
    /// The stand-in ends, and the pod's object is left as it is.
    Abandoned,
}

impl Stop {
    pub(crate) fn grace(self) -> Duration {
        match self {
            Self::Deleted(grace) => grace,
            Self::Abandoned => Duration::ZERO,
        }
    }
}

pub(crate) type Stopping = watch::Receiver<Option<Stop>>;

/// Waits for the end to be called for.
pub(crate) async fn stopped(stopping: &mut Stopping) -> Stop {
    let stop = stopping.wait_for(Option::is_some).await.map(|stop| *stop);
    stop.ok().flatten().unwrap_or(Stop::Abandoned)
}
