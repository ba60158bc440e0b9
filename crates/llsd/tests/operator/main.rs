//! The operator at work on a real control plane: one resource in, a right deployment kept right.

mod autoscaled;
mod awaited_models;
mod by_name;
mod diff;
mod drift;
mod exposed_elsewhere;
mod external_providers;
mod failed_start;
mod failing_inputs;
mod many_at_once;
mod networking_and_workload;
mod operator_images;
mod operator_settles;
mod operator_status;
mod ownership;
mod paused;
mod provider_image;
mod real_external_providers;
mod real_server_end_to_end;
mod real_server_preflight;
mod real_site;
mod replaced_without_a_lost_request;
mod report;
mod secret_changes;
mod secret_values_stay_unseen;
mod user_stories;
