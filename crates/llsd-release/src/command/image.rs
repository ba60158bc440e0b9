//! `llsd-release image`: assembles the image, writes it as a folder, and pushes and signs it if asked.

use std::path::PathBuf;

use clap::Args;
use llsd::command::registry_access::{Access, Connection, Remarks};
use llsd_image::Reference;
use llsd_image::assembly::Assembled;
use llsd_release::image::assemble;
use llsd_release::signing::SigningKey;
use llsd_release::{layout, push, root};

use super::files::{Program, at, read_json, read_text};
use super::source::Source;

/// The largest that a node may have to pull, compressed.
const LIMIT: usize = 15_000_000;

/// Assemble the image; push and sign it where --push says
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// A static program, one for each architecture
    #[arg(long = "program", value_name = "ARCHITECTURE=FILE", required = true)]
    programs: Vec<Program>,

    #[command(flatten)]
    source: Source,

    /// Write the image into this folder, as an OCI image layout
    #[arg(long, value_name = "DIR")]
    layout: PathBuf,

    /// Write what is in the image into this folder, too: as the root of a container sees it
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,

    /// Push the image there
    #[arg(long, value_name = "REF")]
    push: Option<Reference>,

    /// Sign what is pushed with this key, in PEM
    #[arg(long, value_name = "FILE", requires_all = ["push", "materials", "provenance"])]
    key: Option<PathBuf>,

    /// The bill of materials to attach
    #[arg(long, value_name = "FILE")]
    materials: Option<PathBuf>,

    /// The provenance to attach
    #[arg(long, value_name = "FILE")]
    provenance: Option<PathBuf>,

    #[command(flatten)]
    connection: Connection,
}

/// Prints the digest.
pub(super) async fn run(arguments: &Arguments) -> Result<String, String> {
    let programs =
        arguments.programs.iter().map(Program::load).collect::<Result<Vec<_>, String>>()?;
    let release = arguments.source.release();
    let image = assemble(&programs, &release);
    let size = image.largest_layer();
    if size > LIMIT {
        return Err(format!("the image has {size} bytes, which is more than {LIMIT}"));
    }
    layout::write(&image, &release.version, &arguments.layout)
        .map_err(|error| at(&arguments.layout, &error))?;
    if let (Some(folder), Some((_, program))) = (&arguments.root, programs.first()) {
        root::write(&root::files(program.clone()), folder).map_err(|error| at(folder, &error))?;
    }
    eprintln!("{}: {size} bytes, {}", arguments.layout.display(), image.digest());
    if let Some(reference) = &arguments.push {
        let mut remarks = Remarks::default();
        let pushed = Box::pin(pushed(&image, reference, arguments, &mut remarks)).await;
        eprint!("{}", remarks.text());
        pushed?;
    }
    Ok(format!("{}\n", image.digest()))
}

async fn pushed(
    image: &Assembled,
    reference: &Reference,
    arguments: &Arguments,
    remarks: &mut Remarks,
) -> Result<(), String> {
    let key = arguments
        .key
        .as_ref()
        .map(|file| SigningKey::parse(&read_text(file)?).map_err(|problem| at(file, &problem)));
    let key = key.transpose()?;
    let said = |file: &Option<PathBuf>| file.as_deref().map(read_json).transpose();
    let (materials, provenance) = (said(&arguments.materials)?, said(&arguments.provenance)?);
    let access = Access::new(&arguments.connection, remarks).map_err(|why| why.text())?;
    let write = async |repository: llsd_registry::Repository<'_>| {
        let name = reference.manifest_name();
        let digest = repository.push_image(image, &name).await?;
        if let (Some(key), Some(bill_of_materials), Some(provenance)) =
            (&key, &materials, &provenance)
        {
            let said = push::Said { bill_of_materials, provenance, key };
            push::attach(&digest, reference, &said, repository).await?;
        }
        Ok::<(), llsd_image::Error>(())
    };
    access.writing(reference, remarks, write).await.map_err(|error| error.to_string())?;
    let signed = if key.is_some() { ", signed" } else { ", not signed: there is no key" };
    eprintln!("{}{signed}", reference.name_at(&image.digest()));
    Ok(())
}
