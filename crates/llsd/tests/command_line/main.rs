//! The command line: what `llsd` reads, renders, explains, validates, migrates and labels, without
//! a cluster.

mod access_test;
mod cluster_errors;
mod configuration_page;
mod explain_origins;
mod files_of_commands;
mod image;
mod image_access;
mod image_inspect;
mod image_label;
mod image_label_refusals;
mod migrate_files;
mod mirrored_images;
mod program;
mod provider_install;
mod provider_package;
mod provider_registry;
mod render_base;
mod render_facts;
mod render_image_config;
mod render_outputs;
mod render_reads_inputs;
mod render_samples;
mod run_refuses;
mod strict;
mod support;
mod validate_bounds;
mod validate_finds_all;
mod validate_mistakes;
mod validate_names;
mod validate_plans;
mod validate_reads_files;
mod validate_reports;
mod yaml_as_kubectl_reads_it;
