//! Where Redis is: `redis://HOST[:PORT][/DB]`, or `rediss://` for TLS. What the user wrote is never
//! part of an error, because a password may stand in it.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use thiserror::Error;
use tokio_rustls::rustls::pki_types::ServerName;

const DEFAULT_PORT: u16 = 6379;

/// A Redis server without credentials, which have no place in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) database: Option<u32>,
    /// With TLS, the name that the certificate must bear.
    pub(super) tls: Option<ServerName<'static>>,
}

/// Why a text is no target. A type without any of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TargetError {
    #[error("must begin with redis:// or rediss://")]
    Scheme,
    #[error(
        "must not hold a user or a password; the password belongs into the environment variable \
         LLSD_STORAGE_KV_PASSWORD, the user into --username"
    )]
    Credentials,
    #[error("names no host, or one that cannot be a host's name")]
    Host,
    #[error("has a port that is not a number from 1 to 65535")]
    Port,
    #[error("has a path that is not the number of a database")]
    Database,
}

impl Target {
    pub fn uses_tls(&self) -> bool {
        self.tls.is_some()
    }
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        // Before all else: a password with a slash in it must not be taken for a path.
        if text.contains('@') {
            return Err(TargetError::Credentials);
        }
        let (scheme, rest) = text.split_once("://").ok_or(TargetError::Scheme)?;
        let tls = match scheme {
            "redis" => false,
            "rediss" => true,
            _ => return Err(TargetError::Scheme),
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = host_and_port(authority)?;
        let database = match path {
            "" => None,
            number => Some(decimal(number).ok_or(TargetError::Database)?),
        };
        let name = || ServerName::try_from(host.to_owned()).map_err(|_| TargetError::Host);
        Ok(Self {
            host: host.to_owned(),
            port,
            database,
            tls: if tls { Some(name()?) } else { None },
        })
    }
}

fn host_and_port(authority: &str) -> Result<(&str, u16), TargetError> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(bracketed) => {
            let (address, port) = bracketed.split_once(']').ok_or(TargetError::Host)?;
            address.parse::<Ipv6Addr>().map_err(|_| TargetError::Host)?;
            let port = match port.strip_prefix(':') {
                None if port.is_empty() => None,
                None => return Err(TargetError::Host),
                given => given,
            };
            (address, port)
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (plain_host(host)?, Some(port)),
            None => (plain_host(authority)?, None),
        },
    };
    let port = match port {
        None => DEFAULT_PORT,
        Some(digits) => decimal(digits).filter(|port| *port != 0).ok_or(TargetError::Port)?,
    };
    Ok((host, port))
}

/// A name or an IPv4 address. The resolver decides whether it exists; here only what cannot be one
/// is refused, such as a query.
fn plain_host(host: &str) -> Result<&str, TargetError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if host.is_empty() || !host.bytes().all(plain) { Err(TargetError::Host) } else { Ok(host) }
}

/// Digits alone: Rust's own parser takes a plus sign too.
fn decimal<T: FromStr>(digits: &str) -> Option<T> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// For the log: host and port.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<(String, Option<u32>, bool), TargetError> {
        let target: Target = text.parse()?;
        Ok((target.to_string(), target.database, target.uses_tls()))
    }

    #[test]
    fn host_port_database_and_tls_are_read() {
        for (text, address, database, tls) in [
            ("redis://redis", "redis:6379", None, false),
            ("redis://redis/", "redis:6379", None, false),
            ("redis://redis.demo.svc:6380", "redis.demo.svc:6380", None, false),
            ("rediss://redis.example.com/7", "redis.example.com:6379", Some(7), true),
            ("rediss://10.0.0.7:1/0", "10.0.0.7:1", Some(0), true),
            ("redis://[fd00::7]", "[fd00::7]:6379", None, false),
            ("rediss://[::1]:6390/15", "[::1]:6390", Some(15), true),
        ] {
            assert_eq!(parsed(text), Ok((address.to_owned(), database, tls)), "{text}");
        }
    }

    #[test]
    fn credentials_are_refused_wherever_they_stand() {
        for text in [
            "redis://:hunter2@redis",
            "redis://user:hunter2@redis:6379/0",
            "rediss://user@redis",
            "redis://:hun/ter2@redis",
            "redis://redis/0?password=hunter2@x",
            "hunter2@redis",
        ] {
            assert_eq!(parsed(text), Err(TargetError::Credentials));
        }
    }

    #[test]
    fn what_is_no_target_is_refused_with_its_reason() {
        for (text, reason) in [
            ("", TargetError::Scheme),
            ("redis", TargetError::Scheme),
            ("http://redis", TargetError::Scheme),
            ("unix:///run/redis.sock", TargetError::Scheme),
            ("redis://", TargetError::Host),
            ("redis:///0", TargetError::Host),
            ("redis://a,b", TargetError::Host),
            ("redis://redis?db=1", TargetError::Host),
            ("redis://[fd00::7", TargetError::Host),
            ("redis://[redis]", TargetError::Host),
            ("redis://[::1]6379", TargetError::Host),
            ("rediss://-..-", TargetError::Host),
            ("redis://redis:", TargetError::Port),
            ("redis://redis:0", TargetError::Port),
            ("redis://redis:65536", TargetError::Port),
            ("redis://redis:+80", TargetError::Port),
            ("redis://redis/zero", TargetError::Database),
            ("redis://redis/-1", TargetError::Database),
            ("redis://redis/1/2", TargetError::Database),
            ("redis://redis/99999999999", TargetError::Database),
        ] {
            assert_eq!(parsed(text), Err(reason), "{text}");
        }
    }
}
