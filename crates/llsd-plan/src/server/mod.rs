//! What every server does with its container: where things are in it, what `${env.…}` stands for, and what
//! becomes of a value from the environment.

pub mod coercion;
pub mod guarded;
pub mod listening;
pub mod paths;
pub(crate) mod substitution;
