//! A new connection to Redis: TCP, TLS if asked, and the greeting that signs in and selects the
//! database. Every step is bounded in time.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretSlice};
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

use super::failure::Failure;
use super::resp;
use super::target::Target;
use super::trust::{self, TrustError};

/// Any bytes. Its `Debug` says nothing of them.
pub type Password = SecretSlice<u8>;

/// All that it takes to open a connection to Redis.
#[derive(Debug)]
pub struct Upstream {
    target: Target,
    /// There if the target asks for TLS: the name that the certificate must bear, and whom to trust.
    tls: Option<(ServerName<'static>, Arc<ClientConfig>)>,
    greeting: Greeting,
    times: Times,
}

/// How long a client waits at most before it gets the error that Redis is away.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// For the name to be resolved and the connection to be taken.
    pub connect: Duration,
    /// For TLS and the greeting.
    pub greet: Duration,
}

/// Connected and signed in.
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// What is sent first on each connection: one text, made once, because the password is in it.
#[derive(Debug)]
struct Greeting {
    bytes: SecretSlice<u8>,
    commands: usize,
}

impl Greeting {
    fn new(username: Option<&str>, password: Option<&Password>, database: Option<u32>) -> Self {
        let (mut bytes, mut commands) = (Vec::new(), 0);
        if let Some(password) = password {
            let mut words: Vec<&[u8]> = vec![b"AUTH"];
            // Redis before 6 knows no users and takes one word only.
            words.extend(username.map(str::as_bytes));
            words.push(password.expose_secret());
            resp::command(&mut bytes, &words);
            commands += 1;
        }
        if let Some(database) = database {
            resp::command(&mut bytes, &[b"SELECT", database.to_string().as_bytes()]);
            commands += 1;
        }
        Self { bytes: bytes.into(), commands }
    }
}

impl Upstream {
    /// Reads the trusted authorities if the target asks for TLS.
    pub fn new(
        target: Target,
        username: Option<&str>,
        password: Option<&Password>,
        times: Times,
    ) -> Result<Self, TrustError> {
        let tls = match target.tls.clone() {
            Some(name) => Some((name, Arc::new(trust::config()?))),
            None => None,
        };
        let greeting = Greeting::new(username, password, target.database);
        Ok(Self { target, tls, greeting, times })
    }

    pub(super) fn target(&self) -> &Target {
        &self.target
    }

    pub(super) async fn open(&self) -> Result<Stream, Failure> {
        let socket = self.connect().await?;
        let greeted = async {
            let Some((name, config)) = &self.tls else {
                let mut plain = socket;
                self.greet(&mut plain).await?;
                return Ok(Stream::Plain(plain));
            };
            let connector = TlsConnector::from(Arc::clone(config));
            let secured = connector.connect(name.clone(), socket).await;
            let mut secured = secured.map_err(|error| Failure::of_stream(&error))?;
            self.greet(&mut secured).await?;
            Ok(Stream::Tls(Box::new(secured)))
        };
        timeout(self.times.greet, greeted).await.unwrap_or(Err(Failure::NoAnswer))
    }

    /// Tries all addresses of the name. Each gets an equal share of the time that is left, so that
    /// one that swallows packets does not hide another that works.
    async fn connect(&self) -> Result<TcpStream, Failure> {
        let deadline = Instant::now() + self.times.connect;
        let lookup =
            timeout_at(deadline, lookup_host((self.target.host.as_str(), self.target.port)));
        let Ok(Ok(addresses)) = lookup.await else { return Err(Failure::Unresolved) };
        let addresses: Vec<SocketAddr> = addresses.collect();
        let mut failure = Failure::Unresolved;
        for (tried, address) in addresses.iter().enumerate() {
            let left = deadline.saturating_duration_since(Instant::now());
            let share = left / u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
            failure = match timeout(share, TcpStream::connect(address)).await {
                Ok(Ok(socket)) => {
                    prepare(&socket).map_err(|error| Failure::of_connect(&error))?;
                    return Ok(socket);
                }
                Ok(Err(error)) => Failure::of_connect(&error),
                Err(_) => Failure::ConnectTimeout,
            };
        }
        Err(failure)
    }

    /// All commands go in one packet: a refused AUTH refuses what follows it as well.
    async fn greet(
        &self,
        stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    ) -> Result<(), Failure> {
        let said = async {
            stream.write_all(self.greeting.bytes.expose_secret()).await?;
            stream.flush().await
        };
        said.await.map_err(|error: io::Error| Failure::of_stream(&error))?;
        resp::expect(stream, &vec!["+OK"; self.greeting.commands]).await
    }
}

/// A connection may be silent for hours, waiting in a blocking command, and must still be known to
/// be dead within minutes of its peer's end.
pub(super) fn prepare(socket: &TcpStream) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let probes = TcpKeepalive::new()
        .with_time(Duration::from_mins(1))
        .with_interval(Duration::from_secs(15));
    let socket = SockRef::from(socket);
    socket.set_tcp_keepalive(&probes)?;
    // Probes are not sent while data waits to be acknowledged; without this, that takes a quarter
    // of an hour to fail.
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(Duration::from_mins(2)))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greeting(username: Option<&str>, password: Option<&str>, database: Option<u32>) -> Greeting {
        let password = password.map(|text| Password::from(text.as_bytes().to_vec()));
        Greeting::new(username, password.as_ref(), database)
    }

    fn text(greeting: &Greeting) -> &str {
        std::str::from_utf8(greeting.bytes.expose_secret()).unwrap()
    }

    #[test]
    fn the_greeting_signs_in_before_it_selects() {
        assert_eq!(text(&greeting(None, None, None)), "");
        let select = "*2\r\n$6\r\nSELECT\r\n$2\r\n12\r\n";
        assert_eq!(text(&greeting(None, None, Some(12))), select);
        let auth = "*2\r\n$4\r\nAUTH\r\n$2\r\npw\r\n";
        assert_eq!(text(&greeting(None, Some("pw"), Some(12))), format!("{auth}{select}"));
        let user = "*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$2\r\npw\r\n";
        assert_eq!(text(&greeting(Some("me"), Some("pw"), None)), user);
        assert_eq!(greeting(Some("me"), Some("pw"), Some(0)).commands, 2);
    }

    #[test]
    fn debug_output_hides_the_password() {
        let target = "redis://redis".parse().unwrap();
        let password = Password::from(b"hunter2".to_vec());
        let times = Times { connect: Duration::ZERO, greet: Duration::ZERO };
        let upstream = Upstream::new(target, Some("me"), Some(&password), times).unwrap();
        let shown = format!("{upstream:?} {password:?}");
        assert!(shown.contains("REDACTED"), "{shown}");
        for bytes in ["hunter2".to_owned(), format!("{:?}", b"hunter2")] {
            assert!(!shown.contains(bytes.trim_matches(['[', ']'])), "{shown}");
        }
    }
}
