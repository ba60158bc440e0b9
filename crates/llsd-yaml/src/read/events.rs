//! The parser's side: how it is set up for a dialect, and what its complaints and marks mean.

use serde_saphyr::granit_parser::{self, ErrorKind, Marker, Options, ScanError};

use crate::dialect::Dialect;
use crate::fault::Fault;
use crate::position::Position;

pub(super) fn options(dialect: Dialect) -> Options {
    let depth = dialect.bounds().depth;
    granit_parser::options! {
        emit_comments: false, flow_nesting_limit: depth, block_nesting_limit: depth
    }
}

pub(super) fn position(mark: &Marker) -> Position {
    Position { line: mark.line(), column: mark.col() + 1 }
}

/// A parser's complaint at `at`, in words that say what to do.
pub(super) fn syntax(error: &ScanError, at: Position, dialect: Dialect) -> Fault {
    let remedy = match error.kind() {
        ErrorKind::RecursionLimitExceeded if dialect == Dialect::Kubectl => {
            return Fault::too_deep(at, dialect.bounds().depth);
        }
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabAtBlockScalarStart => "indent with spaces",
        ErrorKind::UnknownAnchor => "define the anchor above its first use",
        ErrorKind::UnclosedFlowCollection { .. }
        | ErrorKind::MismatchedFlowCollectionEnd { .. } => "close the bracket",
        ErrorKind::UnclosedQuotedScalar | ErrorKind::InvalidQuotedScalarIndent => "close the quote",
        ErrorKind::MappingValueNotAllowed => {
            "quote a value that holds `: `, or check the indentation"
        }
        _ => "correct the YAML here, or in the lines above",
    };
    Fault::invalid(at, format!("not valid YAML: {}", error.info()), remedy)
}
