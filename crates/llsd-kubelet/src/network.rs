//! Connections over the border of a pod's network: from this machine to the pod's ports, and from
//! pods to what this machine lets them reach.

use std::{
    collections::BTreeMap,
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener as StdListener},
    os::unix::net::UnixListener as StdUnixListener,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
    runtime::Handle,
    sync::watch,
    task::JoinHandle,
};

const CONNECTED: u8 = b'+';

/// The network of one pod, as this machine sees it. Its addresses are closed when it is dropped.
#[derive(Debug)]
pub(crate) struct Network {
    socket: PathBuf,
    runtime: Handle,
    forwarded: Mutex<BTreeMap<u16, (SocketAddr, JoinHandle<()>)>>,
}

impl Network {
    /// The pod's sandbox listens at `socket`.
    pub(crate) fn new(socket: PathBuf, runtime: Handle) -> Self {
        Self { socket, runtime, forwarded: Mutex::default() }
    }

    /// A connection to a port of the pod; an error when nobody listens there.
    pub(crate) async fn connect(&self, port: u16) -> io::Result<UnixStream> {
        connect(&self.socket, port).await
    }

    /// An address on loopback that leads to a port of the pod, whether or not somebody listens
    /// there yet.
    pub(crate) fn address(&self, port: u16) -> io::Result<SocketAddr> {
        let mut forwarded = self.forwarded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((address, _)) = forwarded.get(&port) {
            return Ok(*address);
        }
        let socket = self.socket.clone();
        let dial = move || {
            let socket = socket.clone();
            async move { connect(&socket, port).await }
        };
        let (address, task) = listen(&self.runtime, dial)?;
        forwarded.insert(port, (address, task));
        Ok(address)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let forwarded = self.forwarded.get_mut().unwrap_or_else(PoisonError::into_inner);
        for (_, task) in forwarded.values() {
            task.abort();
        }
    }
}

async fn connect(socket: &PathBuf, port: u16) -> io::Result<UnixStream> {
    let mut stream = UnixStream::connect(socket).await?;
    stream.write_all(format!("{port}\n").as_bytes()).await?;
    if stream.read_u8().await? == CONNECTED {
        Ok(stream)
    } else {
        Err(io::ErrorKind::ConnectionRefused.into())
    }
}

/// Listens on a free port of loopback, and joins every connection with one that `dial` makes.
pub(crate) fn listen<F>(
    runtime: &Handle,
    dial: impl Fn() -> F + Clone + Send + Sync + 'static,
) -> io::Result<(SocketAddr, JoinHandle<()>)>
where
    F: Future<Output = io::Result<UnixStream>> + Send,
{
    let listener = StdListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let task = runtime.spawn(async move {
        let Ok(listener) = TcpListener::from_std(listener) else { return };
        while let Ok((mut outer, _)) = listener.accept().await {
            let dial = dial.clone();
            tokio::spawn(async move {
                // A connection that fails here is closed, which is what the client shall see.
                if let Ok(mut inner) = dial().await {
                    let _ = copy_bidirectional(&mut outer, &mut inner).await;
                }
            });
        }
    });
    Ok((address, task))
}

/// Something of this machine that pods reach at an address of their own loopback.
#[derive(Debug, Clone)]
pub(crate) struct Outlet {
    /// For `/etc/hosts`.
    pub(crate) name: Option<String>,
    pub(crate) address: Ipv4Addr,
    pub(crate) port: u16,
    pub(crate) socket: PathBuf,
}

/// All outlets, which every pod has, also one that runs already.
#[derive(Debug)]
pub(crate) struct Outlets {
    folder: PathBuf,
    all: watch::Sender<Vec<Outlet>>,
}

impl Outlets {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, all: watch::Sender::new(Vec::new()) }
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Vec<Outlet>> {
        self.all.subscribe()
    }

    pub(crate) fn open(
        &self,
        runtime: &Handle,
        host: &str,
        port: u16,
        target: SocketAddr,
    ) -> io::Result<()> {
        let (name, address) = self.place(host)?;
        let socket = self.folder.join(self.all.borrow().len().to_string());
        let listener = StdUnixListener::bind(&socket)?;
        listener.set_nonblocking(true)?;
        runtime.spawn(async move {
            let Ok(listener) = UnixListener::from_std(listener) else { return };
            while let Ok((mut inner, _)) = listener.accept().await {
                tokio::spawn(async move {
                    if let Ok(mut outer) = TcpStream::connect(target).await {
                        let _ = copy_bidirectional(&mut inner, &mut outer).await;
                    }
                });
            }
        });
        self.all.send_modify(|all| all.push(Outlet { name, address, port, socket }));
        Ok(())
    }

    /// A name gets an address for itself, so that two names can have the same port.
    fn place(&self, host: &str) -> io::Result<(Option<String>, Ipv4Addr)> {
        match host.parse() {
            Ok(IpAddr::V4(address)) if address.is_loopback() => return Ok((None, address)),
            Ok(_) => return Err(io::Error::other(format!("{host} is no address of loopback"))),
            Err(_) if host == "localhost" => return Ok((None, Ipv4Addr::LOCALHOST)),
            Err(_) => {}
        }
        let all = self.all.borrow();
        let same = all.iter().find(|outlet| outlet.name.as_deref() == Some(host));
        let [high, low] = u16::try_from(all.len() + 1).map_err(io::Error::other)?.to_be_bytes();
        let address = same.map_or(Ipv4Addr::new(127, 77, high, low), |outlet| outlet.address);
        Ok((Some(host.to_owned()), address))
    }
}
