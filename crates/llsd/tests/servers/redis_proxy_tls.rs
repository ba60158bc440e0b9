//! `llsd redis-proxy` with TLS before a real Redis: whom it believes, and whom not.

use std::io::{Read, Write};
use std::net::TcpListener;

use crate::redis::{Authority, CARGO, PASSWORD, Proxy, Redis, Setup};

#[test]
fn a_private_authority_is_trusted_by_ssl_cert_file() {
    let authority = Authority::new("ours");
    let setup = Setup {
        password: Some(PASSWORD),
        tls: Some((&authority, "127.0.0.1")),
        ..Setup::default()
    };
    let Some(redis) = Redis::start_or_skip(&setup) else { return };
    let (target, trusted) = (format!("{}/3", redis.tls_target()), authority.file());
    let proxy = Proxy::start_trusting(&target, Some(PASSWORD), &[], Some(&trusted));
    let mut client = proxy.client();
    assert_eq!(client.ask(&["SET", "key", CARGO]), "+OK");
    // Many TLS records, more than all buffers on the way hold.
    let large = CARGO.repeat(1_000_000);
    assert_eq!(client.ask(&["SET", "large", &large]), "+OK");
    assert!(client.ask(&["GET", "large"]) == large, "the same bytes come back");
    assert_eq!(proxy.check(), (0, String::new()));
    drop(client);
    assert!(proxy.end().contains("with TLS"));
}

#[test]
fn a_half_closed_connection_still_gets_its_answers_over_tls() {
    let authority = Authority::new("ours");
    let setup = Setup { tls: Some((&authority, "127.0.0.1")), ..Setup::default() };
    let Some(redis) = Redis::start_or_skip(&setup) else { return };
    let trusted = authority.file();
    let proxy = Proxy::start_trusting(&redis.tls_target(), None, &[], Some(&trusted));
    let mut client = proxy.client();
    client.send(&["PING"]).unwrap();
    client.end_asking();
    assert_eq!(client.rest(), "+PONG\r\n");
    proxy.end();
}

#[test]
fn who_cannot_prove_to_be_redis_never_gets_the_password() {
    let (authority, other) = (Authority::new("ours"), Authority::new("theirs"));
    for (trusted, name, words) in [
        (&other, "127.0.0.1", "no authority that is trusted here has signed its certificate"),
        (&authority, "redis.example.com", "its certificate is for another name"),
    ] {
        let setup =
            Setup { password: Some(PASSWORD), tls: Some((&authority, name)), ..Setup::default() };
        let Some(redis) = Redis::start_or_skip(&setup) else { return };
        let (target, file) = (redis.tls_target(), trusted.file());
        let proxy = Proxy::start_trusting(&target, Some(PASSWORD), &[], Some(&file));
        let answer = proxy.client().ask(&["PING"]);
        assert!(answer.starts_with("-ERR") && answer.contains(words), "{answer}");
        assert!(proxy.end().contains(words));
    }
}

#[test]
fn the_systems_authorities_do_not_know_a_private_one() {
    let authority = Authority::new("ours");
    let setup = Setup { tls: Some((&authority, "127.0.0.1")), ..Setup::default() };
    let Some(redis) = Redis::start_or_skip(&setup) else { return };
    let proxy = Proxy::start(&redis.tls_target(), Some(PASSWORD), &[]);
    assert!(proxy.client().ask(&["PING"]).contains("no authority that is trusted here"));
    proxy.end();
}

#[test]
fn a_port_without_tls_never_sees_the_password() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = format!("rediss://{}", listener.local_addr().unwrap());
    let seen = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut hello = vec![0; 4096];
        let count = stream.read(&mut hello).unwrap();
        hello.truncate(count);
        // What Redis answers to bytes that are no command.
        stream.write_all(b"-ERR Protocol error: expected '$', got ' '\r\n").unwrap();
        let _ = stream.read_to_end(&mut hello);
        hello
    });
    let authority = Authority::new("ours");
    let proxy = Proxy::start_trusting(&target, Some(PASSWORD), &[], Some(&authority.file()));
    let answer = proxy.client().ask(&["PING"]);
    assert!(answer.contains("TLS failed; is this its TLS port?"), "{answer}");
    proxy.end();
    let seen = seen.join().unwrap();
    assert_eq!(seen.first(), Some(&0x16), "a TLS handshake came first");
    assert!(!seen.windows(4).any(|bytes| bytes == b"AUTH"));
    assert!(!seen.windows(6).any(|bytes| bytes == &PASSWORD.as_bytes()[..6]));
}

#[test]
fn a_redis_that_wants_a_client_certificate_is_named_as_such() {
    let authority = Authority::new("ours");
    for password in [Some(PASSWORD), None] {
        let setup = Setup {
            password,
            tls: Some((&authority, "127.0.0.1")),
            wants_client_certificate: true,
            ..Setup::default()
        };
        let Some(redis) = Redis::start_or_skip(&setup) else { return };
        let file = authority.file();
        let proxy = Proxy::start_trusting(&redis.tls_target(), password, &[], Some(&file));
        let answer = proxy.client().ask(&["PING"]);
        if password.is_some() {
            assert!(answer.contains("asks for a client certificate"), "{answer}");
        }
        proxy.wait_for_log("it asks for a client certificate");
        proxy.end();
    }
}

#[test]
fn a_file_without_authorities_is_a_wrong_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("empty.pem");
    std::fs::write(&file, "").unwrap();
    for file in [file, folder.path().join("missing.pem")] {
        let mut command = crate::redis::llsd();
        command.args(["redis-proxy", "--target", "rediss://redis"]).env("SSL_CERT_FILE", file);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8(output.stderr).unwrap().contains("SSL_CERT_FILE"));
    }
}
