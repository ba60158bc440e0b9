//! Whether a change of inputs that several servers share may reach this one now: what changes, who else uses
//! it, and whose turn it is.

use llsd_plan::objects::PlannedObject;
use llsd_plan::resource::Resource;
use llsd_plan::resource::template_inputs::SECRET;
use llsd_plan::rollout::ClusterState;
use llsd_plan::rollout::preflight::Preflight;
use llsd_plan::rollout::wave::{Candidate, SharedChange, Source, Turn, Wave, shared_change};

use crate::operator::controller::context::Context;

/// Takes the server's turn, if it needs one and may have it.
pub fn take(
    context: &Context,
    resource: &Resource,
    planned: &PlannedObject,
    state: &ClusterState,
) -> Turn {
    let live = state.counterpart(planned);
    let key = &resource.key;
    let has_cluster_bundle = context.bundles.is_in(&key.namespace);
    let is_used_by_others = |source: &Source| is_used_by_others(context, resource, source);
    let change =
        shared_change(resource, planned, live, has_cluster_bundle, is_used_by_others, state.now);
    let as_canary = |wave| Wave { canary: context.is_canary(resource), ..wave };
    let preflight = state.preflight.as_ref();
    match change {
        SharedChange::None => Turn::NotNeeded,
        SharedChange::Joins(wave) if preflight.is_some_and(|it| is_held(it, &wave)) => {
            Turn::NotNeeded
        }
        SharedChange::Joins(wave) => Turn::Joined(as_canary(wave)),
        SharedChange::Asks(wave, inputs) => {
            let wave = as_canary(wave);
            let is_ready = !preflight.is_some_and(|it| is_held(it, &wave));
            if !is_ready && preflight.is_some_and(Preflight::is_refused) {
                return Turn::NotNeeded;
            }
            let (key, neighbours) = (key.clone(), context.cache.count_in(&key.namespace));
            let asking = Candidate { key, wave, inputs, neighbours, is_ready };
            match context.ask_for_turn(&asking) {
                Ok(()) => Turn::Taken(asking.wave),
                Err(waiting) => Turn::Waiting(waiting),
            }
        }
    }
}

/// Whether another resource names an object, too. `llsd diff` does not know all resources, but the operator does: where
/// it says that a change waits for its turn, others share what changes.
fn is_used_by_others(context: &Context, resource: &Resource, source: &Source) -> bool {
    let is_told = || !context.settings.is_operator && resource.turn_awaited().is_some();
    context.cache.is_named_by_another(&resource.key, source) || is_told()
}

/// Whether the change reaches no pod now, as its preflight goes on or has refused it. Values of Secrets do
/// reach those of a server whose change was refused.
fn is_held(preflight: &Preflight, wave: &Wave) -> bool {
    let has_secret = wave.inputs.iter().any(|input| input.contains(SECRET));
    preflight.holds() && !(preflight.is_refused() && has_secret)
}
