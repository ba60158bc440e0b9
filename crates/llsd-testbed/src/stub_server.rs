//! Stands where a running server would answer the operator, over http or https. Threads and no
//! runtime: tests that share it each have a runtime of their own.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::spawn;

use serde_json::{Value, json};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

type Answers = Arc<Mutex<BTreeMap<String, Value>>>;

/// A running stub, until the process ends.
#[derive(Debug)]
pub struct StubServer {
    address: SocketAddr,
    answers: Answers,
}

impl StubServer {
    pub fn plain() -> Self {
        Self::start(|stream, answers| drop(serve(stream, answers)))
    }

    /// Shows this certificate.
    pub fn with_tls(certificate: &str, key: &str) -> Self {
        llsd_testkit::install_crypto_provider();
        let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        let config = ServerConfig::builder().with_no_client_auth();
        let config = Arc::new(config.with_single_cert(vec![certificate], key).unwrap());
        Self::start(move |stream, answers| {
            let session = ServerConnection::new(Arc::clone(&config)).unwrap();
            drop(serve(StreamOwned::new(session, stream), answers));
        })
    }

    fn start(attend: impl Fn(std::net::TcpStream, &Answers) + Clone + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let answers = Answers::default();
        let theirs = Arc::clone(&answers);
        spawn(move || {
            for stream in listener.incoming().flatten() {
                let (attend, answers) = (attend.clone(), Arc::clone(&theirs));
                spawn(move || attend(stream, &answers));
            }
        });
        Self { address, answers }
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

/// One request, one answer.
fn serve(mut stream: impl Read + Write, answers: &Answers) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        request.extend(byte);
    }
    let request = String::from_utf8_lossy(&request);
    let path = request.split(' ').nth(1).unwrap_or_default();
    let answer = answers.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned();
    let (status, body) = match answer {
        Some(body) => ("200 OK", body.to_string()),
        None => ("404 Not Found", String::new()),
    };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )?;
    stream.flush()
}
