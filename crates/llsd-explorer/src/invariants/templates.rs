//! Which pod templates a Deployment may have, and why.

use std::rc::Rc;

use llsd_plan::objects::labels;
use llsd_plan::rollout::Return;

use super::watcher::{Watcher, cause, word};
use crate::wish::Mood;
use crate::world::{Given, Template, World};

/// Another template has a cause that is the resource's own, is not one that was refused, and is not one that
/// failed before, unless its inputs changed since then or a person asks for it.
pub(super) fn new_templates_have_a_cause(
    watcher: &mut Watcher,
    world: &World,
) -> Result<(), String> {
    // A pod that becomes available only now could not be known of when the change was rolled out.
    let served = std::mem::replace(&mut watcher.served, world.serving().next().is_some());
    let Some(now) = world.template() else { return Ok(()) };
    let before = watcher.template.replace(Rc::clone(now));
    let Some(before) = before else {
        watcher.cause = Some(cause(&world.given));
        return Ok(());
    };
    if Rc::ptr_eq(&before, now) || before.hash == now.hash {
        return Ok(());
    }
    let back = world.record(labels::ROLLED_BACK).map(Return::parse);
    let cause = cause(&world.given);
    let has_run = has_run(world, &before);
    if back.is_none() && has_run && watcher.cause.as_ref() == Some(&cause) {
        return Err(format!("{} takes the place of {} for nothing", now.identity, before.identity));
    }
    watcher.cause = Some(cause);
    if before.identity != now.identity {
        let said = word(world, &before);
        if watcher.failed.iter().any(|(failed, at)| *failed == now.identity && *at == said) {
            return Err(format!("a template that failed is written again: {}", now.identity));
        }
        // What the preflight refuses is never written while it can be asked.
        if now.mood == Mood::Refused && (served && watcher.served) && !world.given.trouble.quota {
            return Err(format!("a change is rolled out that is refused: {}", now.identity));
        }
        if back.is_some_and(|back| !back.is_asked_for()) {
            watcher.failed.push((before.identity.clone(), word(world, now)));
        }
    }
    Ok(())
}

/// Whether a pod of a template is available or was for a while: there is something to protect.
fn has_run(world: &World, template: &Template) -> bool {
    let mut sets = world.replica_sets.iter();
    let set = sets.find(|set| set.template.hash == template.hash);
    set.is_some_and(|set| set.has_served || set.pods.iter().any(|pod| pod.is_available))
}

/// What an upgrade of the operator holds back protects a server that runs, or did.
pub(super) fn only_what_ran_is_held(world: &World) -> Result<(), String> {
    let pending = world.condition("UpdatePending");
    let is_held = pending.is_some_and(|it| it["reason"] == "TemplateKept");
    let is_hindered = world.given.paused || world.is_unplanned;
    let wanted = world.deployment().and_then(|it| it["spec"]["replicas"].as_u64()).unwrap_or(0);
    let runs = world.template().filter(|_| is_held && !is_hindered && wanted > 0);
    let is_served = world.serving().next().is_some();
    match runs.filter(|runs| !is_served && !has_run(world, runs)) {
        Some(runs) => Err(format!("{} never ran, and an upgrade waits", runs.identity)),
        None => Ok(()),
    }
}

/// The last good state is one that served, with whatever values of Secrets: those are never restored.
pub(super) fn last_good_has_served(world: &World) -> Result<(), String> {
    let Some(good) = world.record(labels::LAST_GOOD) else { return Ok(()) };
    let mut sets = world.replica_sets.iter();
    let Some(good) = sets.find(|set| set.template.hash == good) else { return Ok(()) };
    let Template { identity, image, .. } = &*good.template;
    let served = world.replica_sets.iter().filter(|set| set.has_served);
    let mut served = served.map(|set| (&set.template.identity, &set.template.image));
    if served.any(|served| served == (identity, image)) {
        return Ok(());
    }
    Err(format!("{identity} never served, and counts as good"))
}

/// A template that failed does not stay where a good one is known.
pub(super) fn failures_go_back(world: &World) -> Result<(), String> {
    let is_hindered = world.given.paused || world.is_unplanned;
    let wanted = world.deployment().and_then(|it| it["spec"]["replicas"].as_u64()).unwrap_or(0);
    let Some(current) = world.current_set().filter(|_| wanted > 0 && !is_hindered) else {
        return Ok(());
    };
    let has_failed = !current.is_complete && !current.pods.iter().any(|pod| pod.is_available);
    let good = world.record(labels::LAST_GOOD).filter(|good| *good != current.template.hash);
    let mut kept = world.replica_sets.iter().filter(|set| Some(&*set.template.hash) == good);
    if has_failed && kept.next().is_some() && world.record(labels::ROLLED_BACK).is_none() {
        return Err(format!("{} failed, and stays", current.template.identity));
    }
    Ok(())
}

/// A state that a person asked for runs, until something else is asked for, or it failed.
pub(super) fn requested_states_run(world: &World) -> Result<(), String> {
    let Some((asked, at)) = &world.back_asked else { return Ok(()) };
    let is_kept = world.replica_sets.iter().any(|set| set.template.hash == asked.hash);
    let is_hindered = world.given.paused || world.is_unplanned || !is_kept;
    let said = |given: &Given| (given.generation, given.asks, given.back_to.clone());
    let is_asked = said(&world.given) == said(at);
    let runs = world.template().map(|template| (&template.identity, &template.image));
    let back = world.record(labels::ROLLED_BACK).map(Return::parse);
    let has_failed = back.is_some_and(|back| back.from == asked.hash);
    if is_hindered || has_failed || !is_asked || runs == Some((&asked.identity, &asked.image)) {
        return Ok(());
    }
    Err(format!("{} was asked for by its hash, and {runs:?} runs", asked.identity))
}
