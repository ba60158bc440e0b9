//! Stands where running servers would answer the operator, over http or https. It has a separate
//! thread: tests that share it each have their own runtime.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{io, thread};

use axum::extract::State;
use axum::serve::Listener;
use axum::{Router, http};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;

type Answers = Arc<Mutex<BTreeMap<String, Value>>>;

/// A running stub, until the process ends.
#[derive(Debug)]
pub struct StubServer {
    address: SocketAddr,
    answers: Answers,
}

impl StubServer {
    pub fn plain() -> Self {
        Self::start(None)
    }

    /// In place of every server, for an operator whose `--server-url-template` is this address:
    /// healthy, with one provider.
    pub fn of_all_servers() -> Self {
        let stub = Self::plain();
        stub.healthy(
            "",
            &json!([{"api": "inference", "provider_id": "vllm",
                "provider_type": "remote::vllm", "health": {"status": "OK"}}]),
        );
        stub
    }

    /// Shows this certificate.
    pub fn with_tls(certificate: &str, key: &str) -> Self {
        llsd_testkit::install_crypto_provider();
        let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        let config = ServerConfig::builder().with_no_client_auth();
        let config = config.with_single_cert(vec![certificate], key).unwrap();
        Self::start(Some(Arc::new(config).into()))
    }

    fn start(tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let answers = Answers::default();
        let router = Router::new().fallback(answer).with_state(Arc::clone(&answers));
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                match tls {
                    None => axum::serve(listener, router).await,
                    Some(acceptor) => axum::serve(TlsListener { listener, acceptor }, router).await,
                }
            })
        });
        Self { address, answers }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `127.0.0.1:<port>`.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// What is answered at a path from now on; all other paths are not there.
    pub fn answer(&self, path: &str, body: Value) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.insert(path.to_owned(), body);
    }

    /// The answers of a healthy server of release 0.7.3 with these providers, below a path.
    pub fn healthy(&self, below: &str, providers: &Value) {
        self.answer(&format!("{below}/v1/health"), json!({"status": "OK"}));
        self.answer(&format!("{below}/v1/version"), json!({"version": "0.7.3"}));
        self.answer(&format!("{below}/v1/providers"), json!({"data": providers}));
    }
}

async fn answer(
    State(answers): State<Answers>,
    uri: http::Uri,
) -> Result<String, http::StatusCode> {
    let answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
    answers.get(uri.path()).map(Value::to_string).ok_or(http::StatusCode::NOT_FOUND)
}

/// Accepts connections whose handshake succeeds.
struct TlsListener {
    listener: tokio::net::TcpListener,
    acceptor: TlsAcceptor,
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, address) = Listener::accept(&mut self.listener).await;
            let handshake = timeout(Duration::from_secs(5), self.acceptor.accept(stream));
            if let Ok(Ok(stream)) = handshake.await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}
