//! The registry client, its credentials and its mirrors, against real and hostile registries.

mod cache;
mod credentials_keyring;
mod credentials_plugin_config;
mod credentials_provider_plugin;
mod credentials_pull_secret;
mod credentials_stay_unseen;
mod hostile;
mod hostile_registry;
mod mirrors_candidates;
mod mirrors_config;
mod mirrors_openshift;
mod published;
mod pushing;
mod real_registry;
mod setup;
mod signatures;
