//! An address that never answers: a server behind a policy that drops packets, a registry that
//! hangs.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::spawn;

/// Takes connections, and says nothing. Some end at once instead, so that the same trouble is worded
/// one way and another.
#[derive(Debug)]
pub struct BlackholeServer {
    address: SocketAddr,
    calls: Arc<AtomicUsize>,
}

impl BlackholeServer {
    /// Says nothing to anybody.
    pub fn listening() -> Self {
        Self::start(usize::MAX)
    }

    /// Hangs up on every other one.
    pub fn and_rude() -> Self {
        Self::start(2)
    }

    fn start(hangs_up_on_each: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let kept = Mutex::<Vec<TcpStream>>::default();
        spawn(move || {
            for stream in listener.incoming().flatten() {
                let number = counted.fetch_add(1, Ordering::Relaxed) + 1;
                if !number.is_multiple_of(hangs_up_on_each) {
                    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    kept.push(stream);
                    // Whoever called has given up long since.
                    let surplus = kept.len().saturating_sub(400);
                    kept.drain(..surplus);
                }
            }
        });
        Self { address, calls }
    }

    /// `127.0.0.1:<port>`.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// How often somebody called.
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }
}
