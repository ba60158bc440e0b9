//! `llsd migrate --in-cluster`: the storage migration of a cluster,
//! with a line for every page of objects.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use crate::command::cluster::{self, ClusterFlags};
use crate::command::kubeconfig::KubeconfigFlags;
use crate::command::{Exit, Printout};
use crate::operator::storage_migration::{
    Migrated, MigrationError, MigrationProgress, migrate_storage, rehearse,
};

pub(super) fn run(kubeconfig: &KubeconfigFlags, dry_run: bool) -> Result<Printout, Printout> {
    let place = ClusterFlags { kubeconfig: kubeconfig.clone(), ..ClusterFlags::default() };
    cluster::run_speaking(&place, async |cluster| {
        let client = &cluster.client;
        // A server that cannot be asked is not yet a matter of the migration.
        client.apiserver_version().await?;
        let result = if dry_run {
            Box::pin(rehearse(client, |progress| tell(&progress))).await
        } else {
            Box::pin(migrate_storage(client, |progress| tell(&progress))).await
        };
        Ok(ended(result, dry_run))
    })
}

/// Written at once, because thousands of objects take minutes.
fn tell(progress: &MigrationProgress) {
    let line = match progress {
        MigrationProgress::Begun { stored, storage } => {
            format!("stored versions: {}; writing every object as {storage}", stored.join(", "))
        }
        MigrationProgress::Written { objects, remaining: Some(remaining) } => {
            format!("{objects} objects written, about {remaining} to go")
        }
        MigrationProgress::Written { objects, remaining: None } => {
            format!("{objects} objects written")
        }
        MigrationProgress::Refused(refusal) => refusal.to_string(),
    };
    let _ = writeln!(io::stderr().lock(), "{line}");
}

fn ended(result: Result<Migrated, MigrationError>, dry_run: bool) -> Printout {
    match result {
        Ok(migrated) if migrated.retired.is_empty() => {
            Printout::fine("nothing to do: only v1alpha2 is stored\n".to_owned())
        }
        Ok(Migrated { written, gone, retired }) => {
            let retired = retired.join(", ");
            let mut text = String::new();
            let _ = match (dry_run, gone) {
                (true, _) => writeln!(
                    text,
                    "dry run: {written} objects would be written as v1alpha2, and {retired} taken \
                     off the stored versions"
                ),
                (false, 0) => writeln!(
                    text,
                    "{written} objects written as v1alpha2; {retired} is no longer stored"
                ),
                (false, gone) => writeln!(
                    text,
                    "{written} objects written as v1alpha2, {gone} deleted meanwhile; {retired} is \
                     no longer stored"
                ),
            };
            Printout::fine(text)
        }
        Err(error @ MigrationError::Refused { .. }) => Printout {
            stdout: String::new(),
            stderr: format!("error: {error}\n"),
            exit: Exit::Problems,
        },
        Err(error) => Printout::unavailable(&error.to_string()),
    }
}
