//! The state in one word; the table is in the documentation of [`super`].

use llsd_api::v1alpha2::Phase;

use super::hindrance::{Hindrance, Kind};
use super::rollout::{Progress, Rollout};

pub(super) fn phase(hindrance: Option<&Hindrance>, rollout: &Rollout) -> Phase {
    let Some(hindrance) = hindrance else { return Phase::Ready };
    match hindrance.kind {
        Kind::Deletion => Phase::Terminating,
        Kind::Input => Phase::Failed,
        _ if rollout.progress == Progress::Missing => Phase::Pending,
        // While old pods serve, a rollout that fails is no failure of the server.
        _ if rollout.available == 0 && !rollout.troubles.is_empty() => Phase::Failed,
        _ => Phase::Initializing,
    }
}
