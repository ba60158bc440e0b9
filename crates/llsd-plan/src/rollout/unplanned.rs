//! What is decided where nothing can be planned, because the resource is refused or what it needs is not
//! known: a template that failed goes back all the same.

use super::decide::{ClusterState, Rollout};
use super::wave::{self, Turn};
use super::{old_pods_first, records};
use crate::fingerprint;
use crate::objects::{ObjectKind, PlannedObject};
use crate::resource::Resource;

/// The Deployment as it was applied last, with the template that [`ClusterState::back`] asks for. `None`
/// where there is nothing to go back to.
pub fn decide_unplanned<'a>(resource: &Resource, state: &'a ClusterState) -> Option<Rollout<'a>> {
    let json = fingerprint::owned(state.deployment.as_ref()?)?;
    let deployment = state.objects.iter().find(|live| live.deployment().is_some())?;
    let (kind, name) = (ObjectKind::Deployment, deployment.name.to_string());
    let mut applied = PlannedObject { kind, name, json };
    let mut rollout = Rollout::default();
    let detail = deployment.deployment();
    let goes_back = state.goes_back() && rollout.goes_back(&mut applied, detail, state);
    goes_back.then(|| {
        old_pods_first::let_old_pods_go(&mut applied, detail);
        records::note_who_serves(&mut applied, detail);
        records::note_unproven(&mut applied, detail, &resource.status, state.now);
        wave::note(&mut applied, detail, &Turn::NotNeeded, state.now);
        let decision = rollout.deployment(resource, applied, Some(deployment), None);
        rollout.decisions.push(decision);
        rollout
    })
}
