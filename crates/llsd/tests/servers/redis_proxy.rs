//! `llsd redis-proxy` before a real Redis: signing in, databases, limits, a Redis that comes and
//! goes, and the end. Every proxy's output is searched for secrets when it ends.

use std::io::Write;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use crate::redis::{CARGO, Client, PASSWORD, Proxy, Redis, Setup, llsd, tells_a_secret};

fn protected() -> Setup<'static> {
    Setup { password: Some(PASSWORD), ..Setup::default() }
}

#[test]
fn a_password_of_any_bytes_signs_the_client_in() {
    let Some(redis) = Redis::start_or_skip(&protected()) else { return };
    assert!(Client::connect(redis.address).ask(&["PING"]).starts_with("-NOAUTH"));
    let proxy = Proxy::start(&redis.target(), Some(PASSWORD), &[]);
    let mut client = proxy.client();
    assert_eq!(client.ask(&["SET", "key", CARGO]), "+OK");
    assert_eq!(proxy.client().ask(&["GET", "key"]), CARGO);
    assert_eq!(proxy.check(), (0, String::new()));
    drop(client);
    let log = proxy.end();
    assert_eq!(log.lines().count(), 2, "a line at each end: {log}");
}

#[test]
fn a_user_of_its_own_signs_in() {
    let setup = Setup { user: Some("stack"), ..protected() };
    let Some(redis) = Redis::start_or_skip(&setup) else { return };
    let proxy = Proxy::start(&redis.target(), Some(PASSWORD), &["--username", "stack"]);
    assert_eq!(proxy.client().ask(&["ACL", "WHOAMI"]), "stack");
    proxy.end();
}

#[test]
fn a_wrong_password_is_told_to_the_client_and_once_to_the_log() {
    let Some(redis) = Redis::start_or_skip(&protected()) else { return };
    let proxy = Proxy::start(&redis.target(), Some("falsch 'geheim'"), &[]);
    for _ in 0..20 {
        let mut client = proxy.client();
        let answer = client.ask(&["PING"]);
        assert!(answer.starts_with("-WRONGPASS llsd redis-proxy"), "{answer}");
        assert!(!tells_a_secret(&answer), "{answer}");
        assert_eq!(client.rest(), "", "the proxy closes after the error");
    }
    let (code, said) = proxy.check();
    assert_eq!(code, 3);
    assert!(said.contains("Redis refuses the user or the password"), "{said}");
    let log = proxy.end();
    assert_eq!(log.matches("refuses the user or the password (WRONGPASS)").count(), 1, "{log}");
}

#[test]
fn a_password_that_redis_does_not_want_is_named_as_the_cause() {
    let Some(redis) = Redis::start_or_skip(&Setup::default()) else { return };
    let proxy = Proxy::start(&redis.target(), Some(PASSWORD), &[]);
    assert!(proxy.client().ask(&["PING"]).contains("it has no password set"));
    assert!(proxy.end().contains("it has no password set"));
}

#[test]
fn without_a_password_the_proxy_only_passes() {
    let Some(open) = Redis::start_or_skip(&Setup::default()) else { return };
    // An empty variable is as good as none.
    let proxy = Proxy::start(&open.target(), Some(""), &[]);
    assert_eq!(proxy.client().ask(&["PING"]), "+PONG");
    proxy.end();

    let Some(redis) = Redis::start_or_skip(&protected()) else { return };
    let proxy = Proxy::start(&redis.target(), None, &[]);
    let mut client = proxy.client();
    assert_eq!(client.ask(&["PING"]), "-NOAUTH Authentication required.");
    assert_eq!(client.ask(&["AUTH", PASSWORD]), "+OK");
    assert!(proxy.check().1.contains("Redis asks for a password, and the proxy was given none"));
    drop(client);
    proxy.end();
}

#[test]
fn the_database_of_the_target_is_selected() {
    let Some(redis) = Redis::start_or_skip(&protected()) else { return };
    let proxy = Proxy::start(&format!("{}/5", redis.target()), Some(PASSWORD), &[]);
    assert_eq!(proxy.client().ask(&["SET", "key", CARGO]), "+OK");
    let mut direct = Client::connect(redis.address);
    assert_eq!(direct.ask(&["AUTH", PASSWORD]), "+OK");
    assert_eq!(direct.ask(&["GET", "key"]), "$-1");
    assert_eq!(direct.ask(&["SELECT", "5"]), "+OK");
    assert_eq!(direct.ask(&["GET", "key"]), CARGO);
    proxy.end();

    let proxy = Proxy::start(&format!("{}/99", redis.target()), Some(PASSWORD), &[]);
    assert!(proxy.client().ask(&["PING"]).contains("it has no such database"));
    assert!(proxy.end().contains("it has no such database"));
}

#[test]
fn connections_beyond_the_limit_are_refused_at_once() {
    let Some(redis) = Redis::start_or_skip(&protected()) else { return };
    let proxy = Proxy::start(&redis.target(), Some(PASSWORD), &[]);
    let mut served: Vec<Client> = (0..256).map(|_| proxy.client()).collect();
    for client in &mut served {
        assert_eq!(client.ask(&["PING"]), "+PONG");
    }
    for _ in 256..300 {
        assert_eq!(proxy.client().ask(&["PING"]), "-ERR max number of clients reached");
    }
    // A proxy at its limit is at work; a probe must not take it away.
    assert_eq!(proxy.check(), (0, String::new()));
    for client in &mut served {
        assert_eq!(client.ask(&["PING"]), "+PONG", "those that were there are not disturbed");
    }
    served.clear();
    let start = Instant::now();
    while proxy.client().ask(&["PING"]) != "+PONG" {
        assert!(start.elapsed() < Duration::from_secs(30), "places come back");
    }
    assert_eq!(proxy.end().matches("--max-connections").count(), 1);
}

#[test]
fn a_redis_that_went_away_is_found_again_by_the_next_connection() {
    let Some(mut redis) = Redis::start_or_skip(&protected()) else { return };
    let proxy = Proxy::start(&redis.target(), Some(PASSWORD), &[]);
    let mut before = proxy.client();
    assert_eq!(before.ask(&["PING"]), "+PONG");

    redis.stop();
    assert_eq!(before.rest(), "", "the client sees the end at once");
    let mut meanwhile = proxy.client();
    let answer = meanwhile.ask(&["PING"]);
    assert!(answer.ends_with("the connection was refused"), "{answer}");
    assert_eq!(meanwhile.rest(), "");
    let (code, said) = proxy.check();
    assert_eq!(code, 3);
    assert!(said.contains("Redis cannot be used"), "{said}");

    redis.start_again();
    assert_eq!(proxy.client().ask(&["PING"]), "+PONG");
    proxy.wait_for_log("serves again");
    assert_eq!(proxy.end().matches("the connection was refused").count(), 1);
}

#[test]
fn a_proxy_starts_before_redis_does() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = listener.local_addr().unwrap();
    drop(listener);
    let proxy = Proxy::start(&format!("redis://{nobody}"), Some(PASSWORD), &[]);
    assert!(proxy.client().ask(&["PING"]).ends_with("the connection was refused"));
    let proxy_of_nothing = Proxy::start("redis://nowhere.invalid", Some(PASSWORD), &[]);
    assert!(proxy_of_nothing.client().ask(&["PING"]).ends_with("its name cannot be resolved"));
    proxy_of_nothing.end();
    proxy.end();
}

#[test]
fn sigterm_lets_a_blocked_command_come_to_its_end() {
    let Some(redis) = Redis::start_or_skip(&protected()) else { return };
    let proxy = Proxy::start(&redis.target(), Some(PASSWORD), &["--grace", "60s"]);
    let mut blocked = proxy.client();
    // An answer shows that the proxy has taken the connection; the kernel alone would do so too.
    assert_eq!(blocked.ask(&["PING"]), "+PONG");
    blocked.send(&["BLPOP", "queue", "0"]).unwrap();
    let mut direct = Client::connect(redis.address);
    assert_eq!(direct.ask(&["AUTH", PASSWORD]), "+OK");

    let ordered = Instant::now();
    proxy.terminate();
    proxy.wait_for_log("stopping; 1 open connections");
    assert!(Client::try_connect(proxy.address).is_err(), "nobody new is taken");
    assert_eq!(direct.ask(&["RPUSH", "queue", CARGO]), ":1");
    assert_eq!(blocked.reply().unwrap(), CARGO);
    drop(blocked);
    let (status, _) = proxy.ended();
    assert_eq!(status.code(), Some(0));
    assert!(ordered.elapsed() < Duration::from_secs(50), "it ends with its last client");
}

#[test]
fn after_the_grace_open_connections_are_closed() {
    let Some(redis) = Redis::start_or_skip(&Setup::default()) else { return };
    let proxy = Proxy::start(&redis.target(), None, &["--grace", "300ms"]);
    let mut idle = proxy.client();
    assert_eq!(idle.ask(&["PING"]), "+PONG");
    proxy.terminate();
    let (status, log) = proxy.ended();
    assert_eq!(status.code(), Some(0));
    assert!(log.contains("the grace is over; closing 1 connections"), "{log}");
    assert_eq!(idle.rest(), "");
}

#[test]
fn a_client_that_has_asked_all_still_gets_its_answers() {
    let Some(redis) = Redis::start_or_skip(&protected()) else { return };
    let proxy = Proxy::start(&redis.target(), Some(PASSWORD), &[]);
    let mut client = proxy.client();
    client.send(&["PING"]).unwrap();
    client.send(&["ECHO", CARGO]).unwrap();
    client.end_asking();
    assert_eq!(client.rest(), format!("+PONG\r\n${}\r\n{CARGO}\r\n", CARGO.len()));
    proxy.end();
}

#[test]
fn an_upstream_that_is_not_redis_is_refused_within_bounds() {
    // One never stops talking, one never begins, one answers in another protocol.
    let endless = upstream(|stream| while stream.write_all(&[b'+'; 4096]).is_ok() {});
    let silent = upstream(|_| std::thread::sleep(Duration::from_secs(20)));
    let other = upstream(|stream| {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    for (target, words) in [
        (endless, "not the protocol of Redis"),
        (silent, "no answer in time"),
        (other, "not the protocol of Redis"),
    ] {
        let proxy = Proxy::start(&target, Some(PASSWORD), &["--auth-timeout", "500ms"]);
        let answer = proxy.client().ask(&["PING"]);
        assert!(answer.starts_with("-ERR") && answer.contains(words), "{answer}");
        assert!(proxy.end().contains(words));
    }
}

/// The target of a server that does this with its first connection.
fn upstream(serve: fn(&mut std::net::TcpStream)) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || serve(&mut listener.accept().unwrap().0));
    format!("redis://{address}")
}

#[test]
fn a_wrong_command_line_is_refused_without_telling_secrets() {
    let with_password = "redis://stack:geheim@redis:6379";
    for (flags, words) in [
        (&["--target", with_password][..], "must not hold a user or a password"),
        (&["--target", "geheim"], "must begin with redis://"),
        (&["--target", "redis://redis/geheim"], "not the number of a database"),
        (&["--target", "redis://redis", "--username", "x"], "needs a password"),
        (&["--target", "redis://redis", "--listen", "0.0.0.0:6380"], "address of loopback"),
        (&["--target", "redis://redis", "--max-connections", "0"], "max-connections"),
        (&[], "--target"),
    ] {
        let output = llsd().arg("redis-proxy").args(flags).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(words), "{said}");
        assert!(output.stdout.is_empty() && !tells_a_secret(&said), "{said}");
    }
    for flags in [&["--help"][..], &[]] {
        let mut command = llsd();
        command.env("LLSD_REDIS_PROXY_TARGET", with_password).arg("redis-proxy").args(flags);
        let output = command.env("LLSD_STORAGE_KV_PASSWORD", PASSWORD).output().unwrap();
        for said in [output.stdout, output.stderr] {
            let said = String::from_utf8(said).unwrap();
            assert!(!said.contains("geheim"), "{said}");
        }
    }
}

#[test]
fn a_check_without_a_proxy_fails() {
    let output =
        llsd().args(["redis-proxy", "--check", "--listen", "127.0.0.1:1"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, "error: 127.0.0.1:1: no proxy listens there\n");
}
