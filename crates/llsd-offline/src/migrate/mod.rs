//! Texts of v1alpha1 resources as v1alpha2, or for another release of the server, with their comments
//! and the documents around them.

mod migration;
mod texts;

pub use texts::{Migrated, migrate};
