//! A change that nobody asked for restarts nothing, and one that fails takes nothing down: on a real
//! control plane, with the operator as a process.

mod broken_change;
mod diff_and_preflight;
mod explored;
mod guarded;
mod no_room;
mod operators_that_differ;
mod preflight;
mod preflight_slots;
mod program_of_its_own;
mod rollback;
mod server;
mod shared_inputs;
mod two_at_once;
mod upgrade;
