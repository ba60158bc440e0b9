//! Whether it is a server's turn.

use super::record::Wave;
use super::waves::Waiting;

/// Whether a change of shared inputs may reach a server now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Turn {
    /// What changes, if anything does, waits for no other server.
    #[default]
    NotNeeded,
    /// It may, and counts as a part of this wave from now on.
    Taken(Wave),
    /// Not yet.
    Waiting(Box<Waiting>),
}

impl Turn {
    /// What it waits for, where it waits.
    pub fn waiting(&self) -> Option<&Waiting> {
        match self {
            Self::Waiting(waiting) => Some(waiting),
            Self::NotNeeded | Self::Taken(_) => None,
        }
    }
}
