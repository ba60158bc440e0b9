//! One attempt: everything written back, then the older versions taken off the list.

use kube::Client;
use serde::Serialize;

use super::definition::Definition;
use super::error::MigrationError;
use super::objects::{self, Progress};

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
