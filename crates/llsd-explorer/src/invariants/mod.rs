//! What must hold whatever happens. Each is a function that says what is wrong, in words for a person.

mod data;
mod reach;
mod templates;
mod told;
mod watcher;

pub use watcher::Watcher;

use crate::world::World;

/// Looks after each tick.
pub fn after_tick(watcher: &mut Watcher, world: &World) -> Result<(), String> {
    data::kept_claims_stay(watcher, world)?;
    if world.deployment().is_none() {
        watcher.forget();
        return Ok(());
    }
    reach::served_pods_are_reached(watcher, world)?;
    templates::last_good_has_served(world)?;
    templates::new_templates_have_a_cause(watcher, world)
}

/// Looks once everything had time to come to rest.
pub fn at_rest(world: &World) -> Result<(), String> {
    if !world.given.exists {
        return data::nothing_is_left(world);
    }
    told::holds_are_told(world)?;
    told::holds_end(world)?;
    told::ready_is_ready(world)?;
    told::rotations_arrive_or_are_told(world)?;
    told::returns_have_a_cause(world)?;
    templates::failures_go_back(world)?;
    templates::only_what_ran_is_held(world)?;
    templates::requested_states_run(world)?;
    reach::number_of_others_stays(world)?;
    reach::somebody_serves(world)
}
