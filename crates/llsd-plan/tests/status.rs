//! The status of a resource and its events, told from real plans and made-up clusters.

#[path = "status/access.rs"]
mod access;
#[path = "status/events.rs"]
mod events;
#[path = "status/fields.rs"]
mod fields;
#[path = "status/inputs.rs"]
mod inputs;
#[path = "status/previous.rs"]
mod previous;
#[path = "status/rest.rs"]
mod rest;
#[path = "status/rollouts.rs"]
mod rollouts;
#[path = "status/scene.rs"]
mod scene;
