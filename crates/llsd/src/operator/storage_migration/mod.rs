//! Storage migration: every object written back as it is, so that the API server stores it in the
//! version of today, and then v1alpha1 taken off the list of stored versions.
//!
//! It can be stopped and started again at any time: an object that is written twice is the same,
//! and the list of stored versions changes only when all of them were written.
//!
//! # Rights
//! Cluster-wide: `get` of the resource definition and `patch` of its `status`
//! (`customresourcedefinitions`, `customresourcedefinitions/status`); `list`, `get` and `update` of
//! `llamastackdistributions`.

mod definition;
mod error;
mod migration;
mod objects;
mod until_done;

pub use error::{MigrationError, Refusal};
pub use migration::{Migrated, migrate_storage, rehearse};
pub use objects::MigrationProgress;
pub use until_done::migrate_until_done;
