//! Whether it is a server's turn.

use super::record::Wave;
use super::waves::Waiting;

/// Whether a change of shared inputs may reach a server now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Turn {
    /// What changes, if anything does, waits for no other server.
    #[default]
    NotNeeded,
    /// It may, and counts as a part of this wave from now on: its user asks for it, or it counts already.
    Joined(Wave),
    /// The same, as it has its turn.
    Taken(Wave),
    /// Not yet.
    Waiting(Box<Waiting>),
}

impl Turn {
    /// What it waits for, where it waits.
    pub fn waiting(&self) -> Option<&Waiting> {
        match self {
            Self::Waiting(waiting) => Some(waiting),
            Self::NotNeeded | Self::Joined(_) | Self::Taken(_) => None,
        }
    }
}
