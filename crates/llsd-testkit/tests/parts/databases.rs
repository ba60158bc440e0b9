//! Postgres and Redis are real, and take a password seriously.

use llsd_testkit::{Postgres, Redis};

/// Nothing in it may mean anything to a file, a shell or a URL.
const PASSWORD: &str = "p@ss:w/rd \"'\\ 100%#";

#[tokio::test]
async fn postgres_takes_its_password_and_no_other() {
    let builder = Postgres::builder("llama", PASSWORD, "llama-stack");
    let Some(mut postgres) = builder.start_or_skip().await else {
        return;
    };
    postgres.query(PASSWORD, "CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2)").unwrap();
    assert_eq!(postgres.query(PASSWORD, "SELECT * FROM t").unwrap(), "1\n2");
    let database = postgres.query(PASSWORD, "SELECT current_database()").unwrap();
    assert_eq!(database, "llama-stack");
    let refused = postgres.query("wrong", "SELECT 1").unwrap_err().to_string();
    assert!(refused.contains("password authentication failed"), "{refused}");
    postgres.stop().unwrap();
    let gone = postgres.query(PASSWORD, "SELECT 1").unwrap_err().to_string();
    assert!(gone.contains("Connection refused"), "{gone}");
}

#[tokio::test]
async fn postgres_with_tls_talks_to_nobody_without() {
    let builder = Postgres::builder("llama", "secret", "postgres").with_tls();
    let Some(postgres) = builder.start_or_skip().await else {
        return;
    };
    let used = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    assert_eq!(postgres.query("secret", used).unwrap(), "t");
    assert!(postgres.authority().unwrap().is_file());
    let rules = "SELECT DISTINCT type FROM pg_hba_file_rules";
    assert_eq!(postgres.query("secret", rules).unwrap(), "hostssl");
}

#[tokio::test]
async fn redis_takes_its_password_and_no_other() {
    let Some(redis) = Redis::builder().with_password(PASSWORD).start_or_skip().await else {
        return;
    };
    redis.command(Some(PASSWORD), &["SET", "key", "value"]).unwrap();
    assert_eq!(redis.command(Some(PASSWORD), &["GET", "key"]).unwrap(), "value");
    let refused = redis.command(Some("wrong"), &["GET", "key"]).unwrap_err().to_string();
    assert!(refused.contains("WRONGPASS"), "{refused}");
    let refused = redis.command(None, &["GET", "key"]).unwrap_err().to_string();
    assert!(refused.contains("NOAUTH"), "{refused}");
}

#[tokio::test]
async fn redis_with_tls_talks_to_nobody_without() {
    let Some(redis) = Redis::builder().with_tls().start_or_skip().await else {
        return;
    };
    assert_eq!(redis.command(None, &["PING"]).unwrap(), "PONG");
    let plain = reqwest::get(format!("http://127.0.0.1:{}/", redis.port())).await;
    assert!(plain.is_err(), "{plain:?}");
}
