//! Why a client could not be served, as a closed list of fixed phrases: neither what Redis says nor
//! what a library says of it reaches the log or the client, for a password may stand in either.

use std::io;

use thiserror::Error;
use tokio_rustls::rustls::{AlertDescription, CertificateError, Error as TlsError};

/// Each ends the sentence "cannot serve from HOST:PORT: …".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Error)]
pub enum Failure {
    #[error("its name cannot be resolved")]
    Unresolved,
    #[error("the connection was refused")]
    ConnectionRefused,
    #[error("it cannot be reached")]
    Unreachable,
    #[error("it did not take the connection in time")]
    ConnectTimeout,
    #[error("no authority that is trusted here has signed its certificate (SSL_CERT_FILE)")]
    UnknownAuthority,
    #[error("its certificate is for another name")]
    OtherName,
    #[error("its certificate has expired or is not valid yet")]
    OutOfDate,
    #[error("its certificate is not acceptable")]
    BadCertificate,
    #[error("it asks for a client certificate, which the proxy does not have")]
    ClientCertificate,
    #[error("TLS failed; is this its TLS port?")]
    Tls,
    #[error("no answer in time")]
    NoAnswer,
    #[error("it closed the connection before it answered")]
    Closed,
    #[error("what it answers is not the protocol of Redis")]
    NotRedis,
    #[error("it refuses the user or the password (WRONGPASS)")]
    WrongPassword,
    #[error("it asks for a password (NOAUTH)")]
    PasswordNeeded,
    #[error("it has no password set, but the proxy was given one")]
    NoPasswordSet,
    #[error("the user lacks a permission (NOPERM)")]
    NotPermitted,
    #[error("it runs in protected mode and takes local connections only (DENIED)")]
    ProtectedMode,
    #[error("it has no such database")]
    NoSuchDatabase,
    #[error("it has too many clients")]
    RedisFull,
    #[error("it answers with an error")]
    Refused,
    /// The proxy's own limit, not Redis's.
    #[error("as many connections are open as --max-connections allows")]
    ProxyFull,
    /// The proxy itself lacks file descriptors or memory.
    #[error("a connection could not be accepted")]
    Accept,
}

/// How an error of Redis begins, over its releases, and what it means.
const ERRORS: &[(&str, Failure)] = &[
    ("WRONGPASS", Failure::WrongPassword),
    ("ERR invalid password", Failure::WrongPassword),
    ("NOAUTH", Failure::PasswordNeeded),
    ("ERR AUTH <password> called", Failure::NoPasswordSet),
    ("ERR Client sent AUTH, but no", Failure::NoPasswordSet),
    ("NOPERM", Failure::NotPermitted),
    ("DENIED", Failure::ProtectedMode),
    ("ERR DB index", Failure::NoSuchDatabase),
    ("ERR invalid DB index", Failure::NoSuchDatabase),
    ("ERR max number of clients", Failure::RedisFull),
];

impl Failure {
    /// By the line of an error reply, the leading `-` taken off.
    pub(super) fn of_reply(error: &[u8]) -> Self {
        let known = ERRORS.iter().find(|(begin, _)| error.starts_with(begin.as_bytes()));
        known.map_or(Self::Refused, |(_, failure)| *failure)
    }

    pub(super) fn of_connect(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::ConnectionRefused,
            _ => Self::Unreachable,
        }
    }

    /// Of an established connection, or of one in the midst of its TLS handshake.
    pub(super) fn of_stream(error: &io::Error) -> Self {
        Self::of_tls(error).unwrap_or(Self::Closed)
    }

    /// `None` if TLS had no part in it.
    pub(super) fn of_tls(error: &io::Error) -> Option<Self> {
        use AlertDescription::{CertificateRequired, HandshakeFailure};
        let error = error.get_ref()?.downcast_ref::<TlsError>()?;
        Some(match error {
            TlsError::InvalidCertificate(reason) => match reason {
                CertificateError::UnknownIssuer => Self::UnknownAuthority,
                CertificateError::NotValidForName
                | CertificateError::NotValidForNameContext { .. } => Self::OtherName,
                CertificateError::Expired
                | CertificateError::ExpiredContext { .. }
                | CertificateError::NotValidYet
                | CertificateError::NotValidYetContext { .. } => Self::OutOfDate,
                _ => Self::BadCertificate,
            },
            // TLS 1.3 has an alert of its own for it, older servers the general one.
            TlsError::AlertReceived(CertificateRequired | HandshakeFailure) => {
                Self::ClientCertificate
            }
            _ => Self::Tls,
        })
    }

    /// What the client is told. The first word is what client libraries go by.
    pub(super) fn reply(self) -> String {
        let code = match self {
            // Redis's own words for it, which client libraries know.
            Self::ProxyFull => return "-ERR max number of clients reached\r\n".to_owned(),
            Self::WrongPassword => "WRONGPASS",
            Self::PasswordNeeded => "NOAUTH",
            _ => "ERR",
        };
        format!("-{code} llsd redis-proxy cannot serve from Redis: {self}\r\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_all_releases_are_told_apart() {
        for (line, failure) in [
            (
                "WRONGPASS invalid username-password pair or user is disabled.",
                Failure::WrongPassword,
            ),
            ("ERR invalid password", Failure::WrongPassword),
            ("NOAUTH Authentication required.", Failure::PasswordNeeded),
            (
                "ERR AUTH <password> called without any password configured for the default user. \
                 Are you sure your configuration is correct?",
                Failure::NoPasswordSet,
            ),
            ("ERR Client sent AUTH, but no password is set", Failure::NoPasswordSet),
            ("ERR DB index is out of range", Failure::NoSuchDatabase),
            ("ERR something about hunter2", Failure::Refused),
            ("", Failure::Refused),
        ] {
            assert_eq!(Failure::of_reply(line.as_bytes()), failure, "{line}");
        }
    }

    #[test]
    fn a_reply_is_one_error_line() {
        for failure in [Failure::ProxyFull, Failure::WrongPassword, Failure::Unreachable] {
            let reply = failure.reply();
            assert!(reply.starts_with('-') && reply.ends_with("\r\n"), "{reply}");
            assert_eq!(reply.matches(['\r', '\n']).count(), 2, "{reply}");
        }
    }
}
