//! The webhook server by itself: whatever is sent to it, it goes on serving, and it ends in good
//! order.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion, version};

use crate::server::{Identity, Server};

/// A review of that many empty objects.
fn review(objects: usize) -> String {
    let object = json!({"apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution",
                        "metadata": {"name": "one"}, "spec": {"distribution": {"name": "a"}}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": {"uid": "u", "desiredAPIVersion": "llamastack.io/v1alpha1",
                    "objects": vec![object; objects]},
    })
    .to_string()
}

async fn connected(
    server: &Server,
    identity: &Identity,
    version: &'static SupportedProtocolVersion,
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(identity.authority.as_bytes()).unwrap()).unwrap();
    let mut config = ClientConfig::builder_with_protocol_versions(&[version])
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let stream = TcpStream::connect(server.address).await?;
    let name = ServerName::try_from("127.0.0.1").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

fn head(path: &str, length: usize) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n")
}

/// Status code and body of the next answer.
async fn answer(stream: &mut TlsStream<TcpStream>) -> (u16, Value) {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        head.push(char::from(stream.read_u8().await.expect("the connection ended early")));
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).await.unwrap();
    let code = head.split(' ').nth(1).unwrap().parse().unwrap();
    (code, serde_json::from_slice(&body).unwrap_or_default())
}

async fn post(server: &Server, identity: &Identity, path: &str, body: &[u8]) -> (u16, Value) {
    let mut stream = connected(server, identity, &version::TLS13).await.unwrap();
    stream.write_all(head(path, body.len()).as_bytes()).await.unwrap();
    // What is refused by its length may be answered before all of it was sent.
    let _ = stream.write_all(body).await;
    // A busy socket leaves the end of it with TLS.
    let _ = stream.flush().await;
    answer(&mut stream).await
}

async fn assert_serves(server: &Server, identity: &Identity) {
    let (code, answer) = post(server, identity, "/convert", review(3).as_bytes()).await;
    assert_eq!((code, &answer["response"]["uid"]), (200, &json!("u")));
    assert_eq!(answer["response"]["convertedObjects"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn garbage_gets_a_refusal_and_the_next_call_an_answer() {
    let identity = Identity::new();
    let server = Server::start(&identity, None);
    for (path, body, expected) in [
        ("/convert", "", 400),
        ("/convert", "{", 400),
        ("/convert", "{\"kind\": \"Pod\"}", 400),
        ("/convert", "\u{0}\u{1}", 400),
        ("/validate", "[[[[[", 400),
        ("/validate", &review(1), 400),
        ("/", "{}", 404),
        ("/healthz", "", 404),
    ] {
        let (code, answer) = post(&server, &identity, path, body.as_bytes()).await;
        assert_eq!(code, expected, "{path} {body}");
        assert!(code == 404 || answer["message"].as_str().unwrap().contains("Review"), "{answer}");
    }
    let mut invalid = b"{\"a\": \"\xff\xfe".to_vec();
    invalid.resize(500_000, b'[');
    assert_eq!(post(&server, &identity, "/convert", &invalid).await.0, 400);
    let mut plain = TcpStream::connect(server.address).await.unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    assert_serves(&server, &identity).await;
    let text = server.metrics.text();
    assert!(
        text.contains("llsd_webhook_calls_total{path=\"convert\",result=\"no_review\"} 5"),
        "{text}"
    );
    assert!(text.contains("llsd_webhook_calls_total{path=\"convert\",result=\"answered\"} 1"));
}

#[tokio::test]
async fn a_body_beyond_the_bound_is_refused_and_a_page_of_large_objects_passes() {
    let identity = Identity::new();
    let server = Server::start(&identity, None);
    let (code, _) = post(&server, &identity, "/convert", &vec![b' '; (32 << 20) + 1]).await;
    assert_eq!(code, 413);
    let mut page: Value = serde_json::from_str(&review(500)).unwrap();
    for object in page["request"]["objects"].as_array_mut().unwrap() {
        object["spec"]["providers"] =
            json!({"inference": {"settings": {"x": "y".repeat(60 << 10)}}});
    }
    // On a busy machine a server that is not optimised may take longer than a caller is let wait.
    let page = page.to_string();
    let (mut code, mut answer) = (503, Value::Null);
    for _ in 0..5 {
        if code == 503 {
            (code, answer) = post(&server, &identity, "/convert", page.as_bytes()).await;
        }
    }
    assert_eq!(code, 200);
    let objects = answer["response"]["convertedObjects"].as_array().unwrap();
    assert_eq!(objects.len(), 500);
    assert!(objects.iter().all(|object| object["apiVersion"] == "llamastack.io/v1alpha1"));
}

#[tokio::test]
async fn callers_that_are_slow_or_silent_keep_nobody_waiting() {
    let identity = Identity::new();
    let server = Server::start(&identity, None);
    let mut held = Vec::new();
    let mut silent = Vec::new();
    for number in 0..300 {
        silent.push(TcpStream::connect(server.address).await.unwrap());
        if number % 10 == 0 {
            let mut slow = connected(&server, &identity, &version::TLS13).await.unwrap();
            slow.write_all(head("/convert", 30 << 20).as_bytes()).await.unwrap();
            slow.write_all(b"{\"apiVersion\": ").await.unwrap();
            held.push(slow);
        }
    }
    let began = Instant::now();
    for _ in 0..5 {
        assert_serves(&server, &identity).await;
    }
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[tokio::test]
async fn at_the_end_a_call_that_goes_on_is_answered_and_a_resting_connection_closed() {
    let identity = Identity::new();
    let server = Server::start(&identity, None);
    let mut resting = connected(&server, &identity, &version::TLS12).await.unwrap();
    let body = review(1);
    resting.write_all((head("/convert", body.len()) + &body).as_bytes()).await.unwrap();
    assert_eq!(answer(&mut resting).await.0, 200);
    let mut going_on = connected(&server, &identity, &version::TLS13).await.unwrap();
    let (first, second) = body.split_at(body.len() / 2);
    going_on.write_all((head("/convert", body.len()) + first).as_bytes()).await.unwrap();
    going_on.flush().await.unwrap();
    // The server has seen its beginning once it has answered another caller.
    assert_serves(&server, &identity).await;
    server.ask_to_end();
    assert_eq!(resting.read(&mut [0; 64]).await.unwrap_or(0), 0, "it is closed");
    // While Services still send here, who comes is served.
    assert_serves(&server, &identity).await;
    going_on.write_all(second.as_bytes()).await.unwrap();
    assert_eq!(answer(&mut going_on).await.0, 200);
    let address = tokio::task::spawn_blocking(|| server.end()).await.unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}
