//! What a real API server makes of our definitions, roles, samples and generated objects.

mod fingerprints;
mod install_files;
mod objects_are_admitted;
mod planned;
mod roles;
mod samples_apply;
mod secret_policy;
mod verdicts_agree;
