//! What people and clusters do.

use crate::wish::Mood;

/// One thing that happens. Between two steps the operator and the cluster do nothing, unless the step is one
/// of those that let time pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// A person edits the resource: another configuration, of which this becomes.
    Edit(Mood),
    /// Another port.
    EditPort,
    /// Another host name, from which no pod is made.
    EditHost,
    Scale(u8),
    /// The server reads a second Secret, or no longer.
    EditSecrets,
    /// Another value in a Secret that the server reads; the number says which.
    Rotate(u8),
    /// A person overwrites the label by which the operator watches the Deployment.
    LoseLabel,
    Pause,
    Resume,
    Retry,
    Refresh,
    /// The tag of the image names another digest.
    MoveTag,
    /// Another operator leads, with what it has read; the first one stopped between deciding and writing.
    StallLeader,
    /// The operator that stopped goes on, and writes what it had decided.
    WakeStalled,
    /// The operator's key is lost, and the operator creates a new one.
    LoseKey,
    /// Half a minute, in which the operator looks once.
    Tick,
    /// A quarter of an hour, in which everything comes to rest.
    Settle,
}

impl Step {
    /// All steps.
    pub const ALL: &[Self] = &[
        Self::Edit(Mood::Good),
        Self::Edit(Mood::Refused),
        Self::Edit(Mood::Broken),
        Self::EditPort,
        Self::EditHost,
        Self::Scale(0),
        Self::Scale(1),
        Self::Scale(2),
        Self::EditSecrets,
        Self::Rotate(0),
        Self::Rotate(1),
        Self::LoseLabel,
        Self::Pause,
        Self::Resume,
        Self::Retry,
        Self::Refresh,
        Self::MoveTag,
        Self::StallLeader,
        Self::WakeStalled,
        Self::LoseKey,
        Self::Tick,
        Self::Settle,
    ];
}
