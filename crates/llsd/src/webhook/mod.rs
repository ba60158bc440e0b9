//! What the API server calls: the webhooks, their certificates, and their registration.

pub mod certificates;
pub mod install;
