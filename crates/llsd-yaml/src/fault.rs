//! What can be wrong with a text before it is a document: a place, what is wrong, and what to do.

use crate::position::Position;

/// A text, or a part of it, that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub at: Position,
    pub message: String,
    pub remedy: String,
    /// Nothing after this is read.
    pub(crate) last: bool,
}

impl Fault {
    pub(crate) fn invalid(
        at: Position,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { at, message: message.into(), remedy: remedy.into(), last: false }
    }

    fn limit(at: Position, message: String, remedy: &str) -> Self {
        Self { last: true, ..Self::invalid(at, message, remedy) }
    }

    pub(crate) fn too_deep(at: Position, levels: usize) -> Self {
        Self::limit(at, format!("nested more than {levels} levels deep"), "flatten the document")
    }

    pub(crate) fn too_large(at: Position, nodes: usize) -> Self {
        let message = format!("more than {nodes} keys and values, aliases written out");
        Self::limit(at, message, "split the file, and use fewer aliases")
    }

    pub(crate) fn too_long(bytes: usize) -> Self {
        let message = format!("longer than {} MiB", bytes >> 20);
        Self::limit(Position::START, message, "split the file")
    }
}
