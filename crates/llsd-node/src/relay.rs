//! A way from the network outside into that of the node, through a socket in its folder: a port of
//! loopback outside leads to an address inside. The network devices outside stay as they are.

use std::{
    io,
    net::{Ipv4Addr, Shutdown, TcpListener, TcpStream},
    os::unix::net::UnixStream,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

/// Listens until it is dropped. Threads and not tasks, so that it outlives the runtime of one test.
#[derive(Debug)]
pub(crate) struct Relay {
    port: u16,
    is_over: Arc<AtomicBool>,
}

impl Relay {
    /// From `127.0.0.1:port` to whatever listens on the socket.
    pub(crate) fn listen(port: u16, socket: PathBuf) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                // Not there yet, or no longer: the client sees a closed connection.
                if let Ok(inside) = UnixStream::connect(&socket) {
                    let _ = join(client, inside);
                }
            }
        });
        Ok(Self { port, is_over })
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // Wakes the thread, which waits for one more connection.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

fn join(client: TcpStream, inside: UnixStream) -> io::Result<()> {
    client.set_nodelay(true)?;
    let (mut from_client, mut to_inside) = (client.try_clone()?, inside.try_clone()?);
    let (mut from_inside, mut to_client) = (inside, client);
    thread::spawn(move || {
        let _ = io::copy(&mut from_client, &mut to_inside);
        let _ = to_inside.shutdown(Shutdown::Write);
    });
    thread::spawn(move || {
        let _ = io::copy(&mut from_inside, &mut to_client);
        let _ = to_client.shutdown(Shutdown::Write);
    });
    Ok(())
}
