//! When to end: SIGTERM or SIGINT asks every loop to come to its end in good order; a second one,
//! or too long a time, ends the process.

use std::future::pending;
use std::io;
use std::process;
use std::thread;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Whether the process was asked to end. Clones tell the same.
#[derive(Clone, Debug)]
pub struct Shutdown {
    requested: watch::Receiver<bool>,
}

/// The other side of a [`Shutdown`].
#[derive(Clone, Debug)]
pub struct Trigger {
    request: watch::Sender<bool>,
}

impl Trigger {
    pub fn request(&self) {
        self.request.send_replace(true);
    }
}

impl Shutdown {
    /// One that is requested by its trigger alone.
    pub fn new() -> (Trigger, Self) {
        let (request, requested) = watch::channel(false);
        (Trigger { request }, Self { requested })
    }

    /// One that SIGTERM and SIGINT request, or the trigger. The process then has `deadline` to end
    /// by itself; after it, or at one more signal, it is ended with code 1.
    ///
    /// Must be called inside a tokio runtime.
    pub fn on_signals(deadline: Duration) -> io::Result<(Trigger, Self)> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut next = async move || {
            tokio::select! {
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
            }
        };
        let (trigger, shutdown) = Self::new();
        let (request, requested) = (trigger.clone(), shutdown.clone());
        tokio::spawn(async move {
            tokio::select! {
                signal = next() => tracing::info!(signal, "asked to end"),
                () = requested.requested() => tracing::info!("about to end"),
            }
            end_after(deadline);
            request.request();
            let signal = next().await;
            tracing::error!(signal, "asked to end again: what goes on is cut off");
            process::exit(1);
        });
        Ok((trigger, shutdown))
    }

    pub fn is_requested(&self) -> bool {
        *self.requested.borrow()
    }

    /// Returns once the end was asked for, at once if it was before.
    pub async fn requested(&self) {
        let mut requested = self.requested.clone();
        if requested.wait_for(|requested| *requested).await.is_err() {
            // Nobody is left who could ask.
            pending::<()>().await;
        }
    }
}

/// A thread of its own: what keeps the process from ending may be a runtime that is stuck.
fn end_after(deadline: Duration) {
    thread::spawn(move || {
        thread::sleep(deadline);
        tracing::error!(?deadline, "did not end in time: what goes on is cut off");
        process::exit(1);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_request_reaches_all_who_wait_and_all_who_come_later() {
        let (trigger, shutdown) = Shutdown::new();
        let waiting = shutdown.clone();
        let waiting = tokio::spawn(async move { waiting.requested().await });
        assert!(!shutdown.is_requested());
        trigger.request();
        waiting.await.unwrap();
        assert!(shutdown.is_requested());
        shutdown.clone().requested().await;
    }

    #[tokio::test]
    async fn nothing_is_requested_when_nobody_can_request_any_more() {
        let (trigger, shutdown) = Shutdown::new();
        drop(trigger);
        let requested = tokio::time::timeout(Duration::from_millis(50), shutdown.requested()).await;
        assert!(requested.is_err());
    }
}
