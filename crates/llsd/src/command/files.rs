//! The files that a command is given; `-` is stdin.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use llsd_offline::Source;
use llsd_yaml::MAX_BYTES;

use super::Printout;

/// The files with resources; stdin can be one of them, or of the other files of the command.
pub(super) fn open_all<'a>(
    files: &'a [PathBuf],
    others: impl Iterator<Item = &'a Path>,
) -> Result<Vec<Source>, Printout> {
    let named = files.iter().map(PathBuf::as_path).chain(others);
    if named.filter(|file| *file == Path::new("-")).count() > 1 {
        return Err(Printout::usage("`-` can be given once only"));
    }
    files.iter().map(|file| open(file)).collect()
}

/// The file, or what is wrong with the command line.
pub(super) fn open(file: &Path) -> Result<Source, Printout> {
    read_file(file).map_err(|error| Printout::usage(&format!("{}: {error}", file.display())))
}

/// Reads a file, or stdin for `-`. Only one that cannot be opened or read is an error here; one with
/// the wrong content is a finding like any other.
pub(super) fn read_file(file: &Path) -> io::Result<Source> {
    let stream: Box<dyn Read> = if file == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(file)?)
    };
    let mut bytes = Vec::new();
    stream.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(Source::new(file.display().to_string(), bytes))
}
