//! The status of a resource and its events, told from real plans and made-up clusters.

mod access;
mod events;
mod external_providers;
mod fields;
mod inputs;
mod paused;
mod preflight;
mod previous;
mod rest;
mod rollouts;
mod scene;
