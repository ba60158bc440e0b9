//! What is wrong with a provider's package, as data: where, what, and what to do about it.

use std::fmt;

/// Something that keeps a package from being installed, or that its author should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// A file, or a place in one.
    pub at: String,
    pub message: String,
    pub remedy: String,
}

impl Fault {
    pub fn new(
        at: impl Into<String>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { at: at.into(), message: message.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.message)
    }
}
