//! Where the operator and a server disagree.

use std::fmt;

use crate::trial::Trial;

/// How they disagree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The server does not start with what was generated.
    Refused,
    /// The server ignores a part of what was generated, and the operator did not say so.
    Dropped,
    /// A part of the resource is nowhere in the file, and the operator did not say so.
    Lost,
    /// A name that the operator suggests is not taken either.
    Suggestion,
    /// Planning twice gives two files.
    Unstable,
    Panicked,
    /// The operator refuses what the server would take as a person would have written it.
    Doubtful,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused => "the server refuses what is generated",
            Self::Dropped => "the server drops a part of what is generated",
            Self::Lost => "a part of the resource is lost without a word",
            Self::Suggestion => "a suggestion does not hold",
            Self::Unstable => "planning twice differs",
            Self::Panicked => "planning panics",
            Self::Doubtful => "refused here, and the server would take it",
        })
    }
}

/// One disagreement.
#[derive(Clone, Debug)]
pub struct Finding {
    pub kind: Kind,
    /// In the words of the server, or of the operator where it is the one that refuses.
    pub what: String,
    pub trial: Trial,
}

impl Finding {
    /// The same for findings that only differ in names and numbers.
    pub fn signature(&self) -> String {
        let mut text = format!("{:?} ", self.kind);
        let mut is_quoted = false;
        for c in self.what.chars() {
            if c == '\'' {
                is_quoted = !is_quoted;
            } else if !is_quoted && !c.is_ascii_digit() {
                text.push(c);
            }
        }
        text
    }
}
