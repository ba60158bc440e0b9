//! Registries: which images they are asked about and with which credentials, apart from the workers, and what
//! is remembered of their answers.

pub mod asker;
pub mod image_keys;
pub mod image_records;
pub mod lookups;
pub mod pull_credentials;
