//! Places in a text, as editors count them.

use std::fmt;

use serde::Serialize;

/// Line and column, both counted from 1 and the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

impl Position {
    pub const START: Self = Self { line: 1, column: 1 };

    /// The place right behind `text`.
    pub(crate) fn end_of(text: &str) -> Self {
        let last_line = text.rsplit('\n').next().unwrap_or_default();
        Self { line: text.matches('\n').count() + 1, column: last_line.chars().count() + 1 }
    }

    /// A place that is counted from the beginning of a part of the text, seen from the whole;
    /// the part begins here.
    pub(crate) fn then(self, inner: Self) -> Self {
        let column = if inner.line == 1 { self.column + inner.column - 1 } else { inner.column };
        Self { line: self.line + inner.line - 1, column }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}
