//! The command line: what `llsd` reads, renders, explains, validates, migrates and labels, without
//! a cluster.

mod access_test;
mod catalogue;
mod configuration_page;
mod explain_fields;
mod explain_origins;
mod image;
mod image_access;
mod image_inspect;
mod image_label;
mod image_label_refusals;
mod init_and_schema;
mod migrate_files;
mod outputs_for_programs;
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
mod support;
mod validate_bounds;
mod validate_finds_all;
mod validate_mistakes;
mod validate_plans;
mod validate_reads_files;
mod validate_reports;
mod yaml_as_kubectl_reads_it;
