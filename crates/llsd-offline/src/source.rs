//! A text with resources, and where it is from.

use llsd_yaml::{Fault, decode};

/// A file's name as the user wrote it, and its text unless that cannot be read as text.
#[derive(Clone, Debug)]
pub struct Source {
    pub name: String,
    pub text: Result<String, Fault>,
    /// A file of a folder may hold anything besides resources; one that was named is meant to hold some.
    pub(crate) is_named: bool,
}

impl Source {
    pub fn new(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { name: name.into(), text: decode(bytes), is_named: true }
    }

    /// It was not named, but found in a folder that was.
    #[must_use]
    pub fn found_in_a_folder(self) -> Self {
        Self { is_named: false, ..self }
    }
}
