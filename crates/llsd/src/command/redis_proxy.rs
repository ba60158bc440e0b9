//! `llsd redis-proxy`: the sidecar through which a server reaches a Redis with a password or TLS.

use std::env;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use jiff::SignedDuration;
use tokio::net::TcpListener;

use super::Printout;
use super::runtime::runtime;
use llsd_redis_proxy::{Limits, Password, Target, Times, Upstream, check, serve};

/// The variable with the password; a flag would show it to everyone who lists processes.
const PASSWORD: &str = "LLSD_STORAGE_KV_PASSWORD";

/// Pass a server's connections on to Redis, adding password and TLS
///
/// The password is read from LLSD_STORAGE_KV_PASSWORD; without it, the proxy does not sign in.
/// Authorities for TLS are read from the PEM file that SSL_CERT_FILE names, else from the system.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Where to listen: an address of loopback
    #[arg(
        long,
        env = "LLSD_REDIS_PROXY_LISTEN",
        hide_env_values = true,
        default_value = "127.0.0.1:6380",
        value_name = "IP:PORT",
        value_parser = loopback
    )]
    listen: SocketAddr,

    /// Redis, as redis://HOST[:PORT][/DB], or rediss:// for TLS
    #[arg(
        long,
        env = "LLSD_REDIS_PROXY_TARGET",
        hide_env_values = true,
        value_name = "URL",
        required_unless_present = "check"
    )]
    target: Option<UnparsedTarget>,

    /// The user to sign in as, if not the default one
    #[arg(long, env = "LLSD_REDIS_PROXY_USERNAME", hide_env_values = true, value_name = "NAME")]
    username: Option<String>,

    /// How many connections may be open at a time
    #[arg(
        long,
        env = "LLSD_REDIS_PROXY_MAX_CONNECTIONS",
        hide_env_values = true,
        default_value_t = 256,
        value_name = "COUNT",
        value_parser = clap::value_parser!(u32).range(1..=65_535)
    )]
    max_connections: u32,

    /// How long a connection to Redis may take
    #[arg(
        long,
        env = "LLSD_REDIS_PROXY_CONNECT_TIMEOUT",
        hide_env_values = true,
        default_value = "5s",
        value_name = "DURATION",
        value_parser = duration
    )]
    connect_timeout: Duration,

    /// How long TLS and signing in may take
    #[arg(
        long,
        env = "LLSD_REDIS_PROXY_AUTH_TIMEOUT",
        hide_env_values = true,
        default_value = "5s",
        value_name = "DURATION",
        value_parser = duration
    )]
    auth_timeout: Duration,

    /// How long open connections are kept after SIGTERM
    #[arg(
        long,
        env = "LLSD_REDIS_PROXY_GRACE",
        hide_env_values = true,
        default_value = "10s",
        value_name = "DURATION",
        value_parser = duration
    )]
    grace: Duration,

    /// Ask Redis for a sign of life through the proxy that listens there, and exit
    #[arg(long)]
    check: bool,
}

/// A target as it was given. clap would print a value that it cannot parse, and `Debug` any, but a
/// password may stand in it.
#[derive(Clone)]
struct UnparsedTarget(String);

impl From<String> for UnparsedTarget {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for UnparsedTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unread")
    }
}

fn loopback(text: &str) -> Result<SocketAddr, &'static str> {
    let address: SocketAddr = text.parse().map_err(|_| "must be IP:PORT")?;
    if address.ip().to_canonical().is_loopback() {
        Ok(address)
    } else {
        // Whoever can connect is signed in.
        Err("must be an address of loopback")
    }
}

fn duration(text: &str) -> Result<Duration, &'static str> {
    let signed: SignedDuration = text.parse().map_err(|_| "must be a duration, such as 10s")?;
    Duration::try_from(signed).map_err(|_| "must not be negative")
}

pub(super) fn run(arguments: &Arguments) -> Printout {
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(message) => return Printout::usage(&message),
    };
    let printout = runtime.block_on(async {
        if arguments.check { probe(arguments).await } else { proxy(arguments).await }
    });
    // Dropping it would wait for a resolver that does not answer.
    runtime.shutdown_background();
    printout
}

async fn probe(arguments: &Arguments) -> Printout {
    // A little more than the proxy gives Redis, so that its answer comes first.
    let patience = arguments.connect_timeout + arguments.auth_timeout + Duration::from_secs(1);
    match check(arguments.listen, patience).await {
        Ok(()) => Printout::fine(String::new()),
        Err(error) => Printout::unavailable(&format!("{}: {error}", arguments.listen)),
    }
}

async fn proxy(arguments: &Arguments) -> Printout {
    let upstream = match upstream(arguments) {
        Ok(upstream) => upstream,
        Err(message) => return Printout::usage(&message),
    };
    // Before anyone can connect: a signal that comes early must not end the process.
    let stop = match stop_signal() {
        Ok(stop) => stop,
        Err(error) => return Printout::usage(&format!("cannot wait for signals: {error}")),
    };
    let listener = match TcpListener::bind(arguments.listen).await {
        Ok(listener) => listener,
        Err(error) => {
            return Printout::usage(&format!("cannot listen on {}: {error}", arguments.listen));
        }
    };
    let limits = Limits { connections: arguments.max_connections, grace: arguments.grace };
    serve(listener, upstream, limits, stop).await;
    Printout::fine(String::new())
}

fn upstream(arguments: &Arguments) -> Result<Upstream, String> {
    let Some(UnparsedTarget(text)) = &arguments.target else {
        return Err("--target is missing".to_owned());
    };
    let target: Target = text.parse().map_err(|error| format!("--target {error}"))?;
    // Whatever bytes they are: they are sent as they stand.
    let password = env::var_os(PASSWORD)
        .map(std::ffi::OsString::into_encoded_bytes)
        .filter(|bytes| !bytes.is_empty())
        .map(Password::from);
    let username = arguments.username.as_deref().filter(|name| !name.is_empty());
    if username.is_some() && password.is_none() {
        return Err(format!("--username needs a password in {PASSWORD}"));
    }
    let times = Times { connect: arguments.connect_timeout, greet: arguments.auth_timeout };
    Upstream::new(target, username, password.as_ref(), times).map_err(|error| error.to_string())
}

/// Resolves on the first order to end, which Kubernetes gives as SIGTERM and a terminal as SIGINT.
#[cfg(unix)]
fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

#[cfg(not(unix))]
#[allow(clippy::unnecessary_wraps, reason = "the signature of its other half")]
fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_listened_on() {
        for address in ["127.0.0.1:6380", "127.9.9.9:1", "[::1]:0", "[::ffff:127.0.0.1]:6380"] {
            assert!(loopback(address).is_ok(), "{address}");
        }
        for address in ["0.0.0.0:6380", "[::]:6380", "10.0.0.1:6380", "localhost:6380", "6380", ""]
        {
            assert!(loopback(address).is_err(), "{address}");
        }
    }

    #[test]
    fn durations_are_read_as_people_write_them() {
        assert_eq!(duration("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("1m30s"), Ok(Duration::from_secs(90)));
        for text in ["", "10", "-1s", "soon"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
