//! What the tests of the proxy share: a real Redis, the proxy as a process, and a plain client.

mod client;
mod pki;
mod proxy;
mod server;

pub(crate) use client::Client;
pub(crate) use pki::Authority;
pub(crate) use proxy::{Proxy, llsd};
pub(crate) use server::{Redis, Setup};

/// Everything that breaks careless quoting: spaces, quotes, a backslash, line breaks, a piece of
/// the protocol itself, and characters of several bytes.
pub(crate) const PASSWORD: &str = "geheim \"it's\"\\ %40@:/#\t\r\n$6\r\n ß🔑";

/// Words that a test passes through the proxy; no log may hold any of them.
pub(crate) const CARGO: &str = "vertraulich";

/// Whether `text` holds a piece of what must stay secret.
pub(crate) fn tells_a_secret(text: &str) -> bool {
    ["geheim", "it's", "$6", "ß", "🔑", "%40", "falsch", CARGO]
        .iter()
        .any(|word| text.contains(word))
}
