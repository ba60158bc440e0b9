//! What people and clusters do.

use crate::wish::{Mood, Volume};

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
    /// The resource leaves the number of pods to others.
    LeaveScale,
    /// An autoscaler, and not the resource, sets the number of pods of the Deployment.
    Autoscale(u8),
    /// The server has a volume, of which this becomes when the resource is deleted; or no longer has it.
    EditVolume(Volume),
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
    /// A person asks for what an upgrade of the operator holds back.
    Approve,
    /// A person asks for the state before, by its hash.
    RollBack,
    /// A person deletes the resource; the cluster collects what belongs to it.
    Delete,
    /// A person creates the resource again, from the same file.
    Create,
    /// The tag of the image names another digest.
    MoveTag,
    /// Another operator leads, with what it has read; the first one stopped between deciding and writing.
    StallLeader,
    /// The operator that stopped goes on, and writes what it had decided.
    WakeStalled,
    /// The operator's key is lost, and the operator creates a new one.
    LoseKey,
    /// Another version of the operator, with another image in its table.
    Upgrade,
    /// A quota allows no new pod from now on, or does again.
    Quota,
    /// The registry does not answer from now on, or does again.
    Registry,
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
        Self::LeaveScale,
        Self::Autoscale(0),
        Self::Autoscale(2),
        Self::EditVolume(Volume::Retain),
        Self::EditVolume(Volume::Delete),
        Self::EditSecrets,
        Self::Rotate(0),
        Self::Rotate(1),
        Self::LoseLabel,
        Self::Pause,
        Self::Resume,
        Self::Retry,
        Self::Refresh,
        Self::Approve,
        Self::RollBack,
        Self::Delete,
        Self::Create,
        Self::MoveTag,
        Self::StallLeader,
        Self::WakeStalled,
        Self::LoseKey,
        Self::Upgrade,
        Self::Quota,
        Self::Registry,
        Self::Tick,
        Self::Settle,
    ];

    /// Whether it only changes what is decided outside of the cluster, which nobody has looked at yet.
    pub fn is_only_said(self) -> bool {
        !matches!(
            self,
            Self::Autoscale(_)
                | Self::LoseLabel
                | Self::RollBack
                | Self::StallLeader
                | Self::WakeStalled
                | Self::LoseKey
                | Self::Tick
                | Self::Settle
        )
    }
}
