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
mod objects;

use kube::Client;
use serde::Serialize;

use definition::Definition;
pub use error::{MigrationError, Refusal};
pub use objects::Progress;

/// What a migration came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Migrated {
    /// Objects that were written back.
    pub written: usize,
    /// Objects that were deleted before their turn.
    pub gone: usize,
    /// Versions that were taken off the list; none if there was nothing to do.
    pub retired: Vec<String>,
}

/// Migrates what the cluster stores. Without an older version in the list of stored versions
/// nothing is read or written.
pub async fn migrate_storage(
    client: &Client,
    progress: impl Fn(Progress),
) -> Result<Migrated, MigrationError> {
    migrate(client, false, &progress).await
}

/// Asks for everything and changes nothing: every write is a dry run.
pub async fn rehearse(
    client: &Client,
    progress: impl Fn(Progress),
) -> Result<Migrated, MigrationError> {
    migrate(client, true, &progress).await
}

async fn migrate(
    client: &Client,
    dry_run: bool,
    progress: &impl Fn(Progress),
) -> Result<Migrated, MigrationError> {
    let definition = Definition::read(client).await?;
    let retired = definition.older();
    if retired.is_empty() {
        return Ok(Migrated::default());
    }
    let storage = definition.storage.clone();
    progress(Progress::Begun { stored: definition.stored.clone(), storage });
    let written = objects::write_back(client, &definition.storage, dry_run, progress).await?;
    if !written.refused.is_empty() {
        return Err(MigrationError::Refused { objects: written.refused, written: written.objects });
    }
    definition.retire(client, &retired, dry_run).await?;
    Ok(Migrated { written: written.objects, gone: written.gone, retired })
}
