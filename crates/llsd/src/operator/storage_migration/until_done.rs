//! The storage migration beside everything else that the operator does: tried again until all objects are
//! written. An object that is refused keeps no other from being written, and costs no other a second
//! write: only what was refused is tried again, with growing pauses.

use std::time::Duration;

use kube::Client;

use super::definition::StoredDefinition;
use super::error::{MigrationError, Refusal};
use super::migration::{Migrated, migrate_storage};
use super::objects::write_back_refused;

const FIRST_PAUSE: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_mins(10);

/// Returns when only today's version is stored.
pub async fn migrate_until_done(client: &Client) {
    let mut rest = None;
    let mut pause = FIRST_PAUSE;
    let mut told = None;
    loop {
        match attempt(client, &mut rest).await {
            Ok(Migrated { retired, .. }) if retired.is_empty() => return,
            Ok(_) => {
                tracing::info!("all resources are stored as v1alpha2");
                return;
            }
            Err(error) => {
                if told.as_ref().is_none_or(|told| is_news(told, &error)) {
                    tell(&error);
                }
                told = Some(error);
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// What was said is not said with every try.
fn is_news(told: &MigrationError, now: &MigrationError) -> bool {
    match (told, now) {
        (
            MigrationError::Refused { objects: told, .. },
            MigrationError::Refused { objects: now, .. },
        ) => told != now,
        (told, now) => told != now,
    }
}

fn tell(error: &MigrationError) {
    tracing::warn!("storage is not migrated yet: {error}");
    if let MigrationError::Refused { objects, .. } = error {
        for refusal in objects {
            tracing::warn!(%refusal, "an object is not written");
        }
    }
}

/// What is left to be written.
struct Rest {
    refused: Vec<Refusal>,
    /// Of the definition for which all others were written. With another, older versions may have been
    /// stored again.
    generation: Option<i64>,
}

async fn attempt(client: &Client, rest: &mut Option<Rest>) -> Result<Migrated, MigrationError> {
    let generation = StoredDefinition::fetch(client).await?.generation;
    let known = rest.as_ref().filter(|rest| rest.generation == generation);
    let result = match known {
        Some(known) => finish(client, &known.refused).await,
        None => migrate_storage(client, |_| {}).await,
    };
    if let Err(MigrationError::Refused { objects, .. }) = &result {
        *rest = Some(Rest { refused: objects.clone(), generation });
    }
    result
}

/// Writes what was refused before, and retires the older versions if all of it is taken now.
async fn finish(client: &Client, refused: &[Refusal]) -> Result<Migrated, MigrationError> {
    let definition = StoredDefinition::fetch(client).await?;
    let retired = definition.older();
    if retired.is_empty() {
        return Ok(Migrated::default());
    }
    let written = write_back_refused(client, &definition.storage, refused).await?;
    if !written.refused.is_empty() {
        return Err(MigrationError::Refused { objects: written.refused, written: written.objects });
    }
    definition.retire(client, &retired, false).await?;
    Ok(Migrated { written: written.objects, gone: written.gone, retired })
}
