//! What a real API server makes of our definitions, roles, samples and generated objects.

mod fingerprints;
mod install_files;
mod mutated_samples;
mod objects_are_admitted;
mod operator_policy;
mod planned;
mod rights_of_authors;
mod roles;
mod samples_apply;
mod verdicts_agree;
