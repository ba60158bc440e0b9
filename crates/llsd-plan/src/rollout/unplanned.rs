//! What is decided where nothing can be planned, because the resource is refused or what it needs is not
//! known: a template that failed goes back all the same.

use super::decide::{ClusterState, Rollout};
use super::shared::{self, Copies};
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
        let copies =
            Copies::of_deployment(std::slice::from_ref(&applied), &state.objects, &state.lacking);
        rollout.take_copies(resource, copies, state);
        let decision = rollout.deployment(resource, applied, Some(deployment), None);
        rollout.decisions.push(decision);
        rollout
    })
}

/// The copies of the start programs that a Deployment as it is mounts, and that are missing and can be made: no pod
/// could be started meanwhile.
pub fn decide_programs<'a>(resource: &Resource, state: &'a ClusterState) -> Rollout<'a> {
    let mut rollout = Rollout::default();
    let is_missing = |copy: &&PlannedObject| !shared::is_tampered(&state.objects, &copy.name);
    let missing = state.lacking.known.iter().filter(is_missing).cloned().collect();
    rollout.take_copies(resource, Copies { missing, ..Copies::default() }, state);
    rollout
}
