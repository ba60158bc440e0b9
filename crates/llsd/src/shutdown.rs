//! interim
use std::time::Duration;
use tokio::sync::watch;
#[derive(Clone, Debug)]
pub struct Shutdown(watch::Receiver<bool>);
impl Shutdown {
    pub fn on_signals(_: Duration) -> Self {
        let (sender, receiver) = watch::channel(false);
        tokio::spawn(async move {
            let mut term =
                tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).unwrap();
            tokio::select! { _ = term.recv() => {}, _ = tokio::signal::ctrl_c() => {} }
            let _ = sender.send(true);
            std::future::pending::<()>().await;
        });
        Self(receiver)
    }
    pub async fn requested(&self) {
        let mut r = self.0.clone();
        while !*r.borrow_and_update() {
            if r.changed().await.is_err() {
                std::future::pending::<()>().await
            }
        }
    }
    pub fn is_requested(&self) -> bool {
        *self.0.borrow()
    }
}
