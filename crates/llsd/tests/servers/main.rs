//! Real servers, and the programs that run in their pods.

mod access;
mod first_requests;
mod forgotten_registrations;
mod image;
mod installed_types;
mod moved_to_ogx;
mod persisted_registry;
mod pod;
mod policies;
mod preflight_program;
mod provider_packages;
mod random_resources;
mod real_servers_check;
mod redis;
mod redis_proxy;
mod redis_proxy_tls;
mod registered_by_users;
mod served_as_asked;
mod servers_boot;
mod start_again;
mod start_program;
mod state_is_kept;
mod trusted_certificates;
mod up;
mod watched;
