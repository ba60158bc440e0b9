//! `llsd-release package`: archives of the command line, krew's manifest of them, and the checksums of
//! everything in the folder.

use std::path::{Path, PathBuf};

use clap::Args;
use llsd::command::definition;
use llsd_image::Digest;
use llsd_release::archive::{archive, checksums};
use llsd_release::manual::pages;
use llsd_release::plugin_index::{Archive, manifest};

use super::files::{Program, at, read_file, read_text, write};
use super::source::Source;

const CHECKSUMS: &str = "SHA256SUMS";

/// Write archives of the command line, and the checksums of a release
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// A static program, one for each architecture
    #[arg(long = "program", value_name = "ARCHITECTURE=FILE", required = true)]
    programs: Vec<Program>,

    #[command(flatten)]
    source: Source,

    /// Where the files will be downloaded from
    #[arg(long, value_name = "URL")]
    download_url: String,

    /// The folder of the release, whose files all get a checksum
    #[arg(long, value_name = "DIR")]
    output_dir: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> Result<String, String> {
    let release = arguments.source.release();
    let time = u64::try_from(release.time).unwrap_or_default();
    let licence = read_text("LICENSE".as_ref())?;
    let mut archives = Vec::new();
    for program in &arguments.programs {
        let (architecture, content) = program.load()?;
        let name = format!("llsd-{}-linux-{architecture}.tar.gz", release.version);
        let packed = archive(&content, pages(definition()), &licence, time);
        write(&arguments.output_dir.join(&name), &packed)?;
        let url = format!("{}/{name}", arguments.download_url.trim_end_matches('/'));
        archives.push(Archive { architecture, url, digest: Digest::sha256(&packed) });
    }
    write(&arguments.output_dir.join("krew.yaml"), manifest(&release.version, &archives))?;
    let sums = checksums(&contents(&arguments.output_dir)?);
    write(&arguments.output_dir.join(CHECKSUMS), &sums)?;
    Ok(sums)
}

/// The files of the folder by name, those in folders below left out.
fn contents(folder: &Path) -> Result<Vec<(String, Vec<u8>)>, String> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| at(folder, &error))? {
        let path = entry.map_err(|error| at(folder, &error))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_file() && name != CHECKSUMS {
            files.push((name, read_file(&path)?));
        }
    }
    files.sort();
    Ok(files)
}
