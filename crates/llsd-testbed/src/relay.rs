//! The way to a server, which a test can cut and open again at the same address.

use std::io::copy;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::spawn;

/// Passes bytes on between its own address and another. Threads and no runtime: tests that share it
/// each have a runtime of their own.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    cut: bool,
    open: Vec<TcpStream>,
}

impl Relay {
    /// A way to `target`, which is `host:port`.
    pub fn to(target: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::<State>::default());
        let (theirs, target) = (Arc::clone(&state), target.to_owned());
        spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut state = theirs.lock().unwrap_or_else(PoisonError::into_inner);
                if !state.cut
                    && let Ok(onward) = TcpStream::connect(&target)
                {
                    state.open.extend([&stream, &onward].map(|side| side.try_clone().unwrap()));
                    pass(&stream, &onward);
                    pass(&onward, &stream);
                }
            }
        });
        Self { address, state }
    }

    /// `127.0.0.1:<port>`.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// Nobody is reached any more, also not over connections that are there.
    pub fn cut(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.cut = true;
        for side in state.open.drain(..) {
            let _ = side.shutdown(Shutdown::Both);
        }
    }

    /// Lets connections through again.
    pub fn restore(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).cut = false;
    }
}

fn pass(from: &TcpStream, to: &TcpStream) {
    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
    spawn(move || {
        let _ = copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
}
