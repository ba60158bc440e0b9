//! Whatever is not as the resource says is told in its status, and ends.

use llsd_plan::objects::labels;
use llsd_plan::rollout::Return;

use crate::operator::image_of_operator;
use crate::wish::{Mood, SECRETS};
use crate::world::{Ask, Given, World, identity};

/// Whatever runs otherwise than the resource and the operator's table say is told, in a condition.
pub(super) fn holds_are_told(world: &World) -> Result<(), String> {
    let is_excused = world.given.paused || world.is_unplanned;
    let Some(runs) = world.template() else {
        return if is_excused { Ok(()) } else { Err("there is no Deployment".to_owned()) };
    };
    let wish = world.given.wish;
    let text = format!("{:?}-{}", wish.mood, wish.edition);
    let wished = identity(&text, wish.port(), wish.volume.is_some());
    let is_as_wished = runs.identity == wished && (has_image_of_operator(world) || is_excused);
    if is_as_wished || is_told(world) {
        return Ok(());
    }
    let (runs, image) = (&runs.identity, &runs.image);
    Err(format!("{runs} runs with {image}, {wished} is asked for, and no condition says why"))
}

fn is_told(world: &World) -> bool {
    let is =
        |kind: &str, status: &str| world.condition(kind).is_some_and(|it| it["status"] == status);
    let is_there = |kind: &str| world.condition(kind).is_some();
    ["UpdatePending", "RolledBack", "Stalled"].into_iter().any(is_there)
        || is("Preflight", "False")
        || world.is_unplanned && is("Ready", "False")
}

fn has_image_of_operator(world: &World) -> bool {
    let image = image_of_operator(world.given.operator);
    let runs = world.template().map(|template| template.image.as_str()).unwrap_or_default();
    image.is_none_or(|image| runs.starts_with(&format!("{image}@")))
}

/// A preflight ends, and so does what waits for a word that was given.
pub(super) fn holds_end(world: &World) -> Result<(), String> {
    let is_reason = |kind: &str, reason: &str| {
        world.condition(kind).is_some_and(|condition| condition["reason"] == reason)
    };
    if is_reason("Preflight", "PreflightRunning") && !world.given.paused && !world.is_unplanned {
        return Err("a preflight does not end".to_owned());
    }
    let said =
        |given: &Given| (given.resource, given.operator, given.wish, given.asked(Ask::Approve));
    let is_approved = world.approved.as_ref().map(said) == Some(said(&world.given));
    let is_hindered = world.given.paused || world.is_unplanned;
    let is_free = !is_hindered && world.given.wish.mood == Mood::Good;
    if is_approved && is_free && is_reason("UpdatePending", "TemplateKept") {
        return Err("an upgrade was approved, and still waits".to_owned());
    }
    Ok(())
}

/// Why a change failed is told for as long as an earlier state runs for it, whatever else is written meanwhile: its pods
/// are gone.
pub(super) fn returns_have_a_cause(world: &World) -> Result<(), String> {
    let back = world.record(labels::ROLLED_BACK).map(Return::parse);
    let Some(back) = back.filter(|back| !back.is_asked_for()) else { return Ok(()) };
    let told = world.condition("RolledBack").map(|it| it["message"].to_string());
    if back.cause.is_empty() || told.is_some_and(|told| !told.contains(&back.cause)) {
        return Err(format!("{} failed, and nothing says why", back.from));
    }
    Ok(())
}

/// A server that is called ready has all its pods, of the template that the Deployment has.
pub(super) fn ready_is_ready(world: &World) -> Result<(), String> {
    let is_ready = world.condition("Ready").is_some_and(|ready| ready["status"] == "True");
    let wanted = world.deployment().and_then(|it| it["spec"]["replicas"].as_u64()).unwrap_or(0);
    let pods = world.current_set().into_iter().flat_map(|set| &set.pods);
    let available = pods.filter(|pod| pod.is_available).count() as u64;
    if is_ready && available < wanted {
        return Err(format!("Ready is True with {available} of {wanted} pods"));
    }
    Ok(())
}

/// What was rotated reaches pods, or a condition names the Secret.
pub(super) fn rotations_arrive_or_are_told(world: &World) -> Result<(), String> {
    if world.given.paused {
        return Ok(());
    }
    for (which, name) in SECRETS.iter().enumerate() {
        let now = world.given.secrets[which];
        let old = world.serving().find(|set| {
            set.template.reads[which] && set.pods.iter().any(|pod| pod.secrets[which] != now)
        });
        let Some(old) = old else { continue };
        let told = world.status["conditions"].to_string().contains(&format!("Secret {name}"));
        let is_hindered = world.given.trouble.quota || world.is_unplanned;
        if !told && !is_hindered {
            return Err(format!(
                "{} runs with an old value of Secret {name}, and no condition says so",
                old.template.identity
            ));
        }
    }
    Ok(())
}
