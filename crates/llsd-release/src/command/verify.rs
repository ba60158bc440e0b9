//! `llsd-release verify`: says whether a key signed an image, and what it says of it.

use std::path::PathBuf;

use clap::Args;
use llsd::command::registry_access::{Access, Connection, Remarks};
use llsd_image::Reference;
use llsd_registry::attached::attached;
use llsd_registry::signature::VerifyingKey;
use llsd_release::verify::{LIMIT, verify};

use super::files::{at, read_text};

/// Check the signature of an image, and list what is attested of it
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The image
    #[arg(value_name = "REF")]
    image: Reference,

    /// The public key, in PEM
    #[arg(long, value_name = "FILE")]
    key: PathBuf,

    #[command(flatten)]
    connection: Connection,
}

pub(super) async fn run(arguments: &Arguments) -> Result<String, String> {
    let (image, file) = (&arguments.image, &arguments.key);
    let key = VerifyingKey::parse(&read_text(file)?).map_err(|problem| at(file, &problem))?;
    let mut remarks = Remarks::default();
    let access = Access::new(&arguments.connection, &mut remarks).map_err(|why| why.text())?;
    let opened =
        Box::pin(access.open(image, &mut remarks)).await.map_err(|error| error.to_string())?;
    let digest = opened.image.digest.clone();
    let read = async |tag: &Reference| {
        attached(access.client.repository(tag, opened.credential.as_ref()), LIMIT).await
    };
    let verified = verify(&digest, image, &key, read).await.map_err(|error| error.to_string())?;
    if !verified.is_signed {
        return Err(format!("{} has no signature of this key", image.name_at(&digest)));
    }
    let kinds = verified.attestations.iter().map(|(kind, _)| format!("attested: {kind}\n"));
    Ok(format!("signed: {}\n{}", image.name_at(&digest), kinds.collect::<Vec<String>>().concat()))
}
