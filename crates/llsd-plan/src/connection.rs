//! A database's connection string taken apart, because the server has no place for a whole one.
//! The parts are secrets: the type can be neither printed nor serialised.

use std::fmt;

/// The parts of a Postgres connection string, decoded.
#[derive(Clone, PartialEq, Eq)]
pub struct Connection {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) database: String,
    pub(crate) user: String,
    pub(crate) password: String,
    pub(crate) ssl_mode: Option<String>,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connection(secret)")
    }
}
