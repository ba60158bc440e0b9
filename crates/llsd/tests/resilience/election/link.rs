//! A way to the API server that can be shut for one client alone: bytes on the way are held, as in
//! a network that is cut, and delivered late when it opens again.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

pub struct Link {
    open: watch::Sender<bool>,
    /// How many bytes of answers may pass before it shuts by itself.
    allowance: Arc<AtomicI64>,
    /// Held once for each connection.
    connections: Arc<()>,
}

impl Link {
    /// Before the API server of this configuration, which then leads through the link.
    pub async fn before(config: &mut kube::Config) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let beyond = config.cluster_url.authority().unwrap().to_string();
        config.cluster_url = format!("https://{address}").parse().unwrap();
        let (open, state) = watch::channel(true);
        let allowance = Arc::new(AtomicI64::new(i64::MAX));
        let connections = Arc::new(());
        let held = Arc::downgrade(&connections);
        let link = Self { open: open.clone(), allowance: allowance.clone(), connections };
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let (beyond, state, open) = (beyond.clone(), state.clone(), open.clone());
                let allowance = allowance.clone();
                let spend = move |bytes| {
                    if allowance.fetch_sub(bytes, Ordering::Relaxed) <= bytes {
                        open.send_replace(false);
                    }
                };
                let held = held.upgrade();
                tokio::spawn(async move {
                    let Ok(far) = TcpStream::connect(beyond).await else { return };
                    let (near_reads, near_writes) = near.into_split();
                    let (far_reads, far_writes) = far.into_split();
                    tokio::select! {
                        () = pass(near_reads, far_writes, state.clone(), |_| {}) => {}
                        () = pass(far_reads, near_writes, state, spend) => {}
                    }
                    drop(held);
                });
            }
        });
        link
    }

    /// How many connections are open.
    pub fn connections(&self) -> usize {
        Arc::strong_count(&self.connections) - 1
    }

    /// Shuts in the midst of an answer, after so many bytes.
    pub fn shut_after(&self, bytes: i64) {
        self.allowance.store(bytes, Ordering::Relaxed);
    }

    pub fn shut(&self) {
        self.open.send_replace(false);
    }

    pub fn open(&self) {
        self.open.send_replace(true);
    }
}

async fn pass(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    mut open: watch::Receiver<bool>,
    spend: impl Fn(i64),
) {
    let mut bytes = vec![0; 16 * 1024];
    loop {
        let Ok(read @ 1..) = from.read(&mut bytes).await else { return };
        if open.wait_for(|open| *open).await.is_err() || to.write_all(&bytes[..read]).await.is_err()
        {
            return;
        }
        spend(i64::try_from(read).unwrap());
    }
}
