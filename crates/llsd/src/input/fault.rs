//! What can be wrong with a text before it is a resource: a finding without a field path, at a
//! line and column of its own.

use llsd_plan::problem::{FieldPath, Reason};
use serde_saphyr::granit_parser::{ErrorKind, ScanError};

use super::assemble::{MAX_DEPTH, MAX_NODES};
use super::finding::Finding;
use super::source::MAX_BYTES;
use super::tree::Position;

/// A text, or a part of it, that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub at: Position,
    pub message: String,
    pub remedy: String,
    /// Nothing after this is looked at.
    pub(super) last: bool,
}

impl Fault {
    pub(super) fn invalid(
        at: Position,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { at, message: message.into(), remedy: remedy.into(), last: false }
    }

    fn limit(at: Position, message: String, remedy: &str) -> Self {
        Self { last: true, ..Self::invalid(at, message, remedy) }
    }

    pub(super) fn too_deep(at: Position) -> Self {
        Self::limit(at, format!("nested more than {MAX_DEPTH} levels deep"), "flatten the document")
    }

    pub(super) fn too_large(at: Position) -> Self {
        let message = format!("more than {MAX_NODES} keys and values, aliases written out");
        Self::limit(at, message, "split the file, and use fewer aliases")
    }

    pub(super) fn too_long() -> Self {
        let message = format!("longer than {} MiB", MAX_BYTES >> 20);
        Self::limit(Position::START, message, "split the file")
    }

    /// A parser's complaint at `at`, in words that say what to do.
    pub(super) fn syntax(error: &ScanError, at: Position) -> Self {
        let remedy = match error.kind() {
            ErrorKind::RecursionLimitExceeded => return Self::too_deep(at),
            ErrorKind::TabNotAllowed
            | ErrorKind::TabInBlockIndentation
            | ErrorKind::TabInIndentation
            | ErrorKind::TabAtBlockScalarStart => "indent with spaces",
            ErrorKind::UnknownAnchor => "define the anchor above its first use",
            ErrorKind::UnclosedFlowCollection { .. }
            | ErrorKind::MismatchedFlowCollectionEnd { .. } => "close the bracket",
            ErrorKind::UnclosedQuotedScalar | ErrorKind::InvalidQuotedScalarIndent => {
                "close the quote"
            }
            ErrorKind::MappingValueNotAllowed => {
                "quote a value that holds `: `, or check the indentation"
            }
            _ => "correct the YAML here, or in the lines above",
        };
        Self::invalid(at, format!("not valid YAML: {}", error.info()), remedy)
    }

    pub fn finding(&self) -> Finding {
        Finding::new(FieldPath::root(), Reason::Invalid, &self.message, &self.remedy, self.at)
    }
}
