//! The files that a command is given, and those of folders; `-` is stdin.

use std::fs::{self, DirEntry, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use llsd_offline::Source;
use llsd_yaml::MAX_BYTES;

use super::Printout;

/// What kubectl takes out of a folder.
const EXTENSIONS: [&str; 3] = ["json", "yaml", "yml"];

/// The files with resources, as kubectl's flags of the same names.
#[derive(Debug, Args)]
pub(super) struct FileFlags {
    /// Files with resources in YAML or JSON, or folders of such files; `-` is stdin
    #[arg(short = 'f', long = "filename", value_name = "FILE", num_args = 1.., value_delimiter = ',')]
    files: Vec<PathBuf>,

    /// With -f FOLDER: the files of all folders below it, too
    #[arg(short = 'R', long, requires = "files")]
    recursive: bool,
}

impl FileFlags {
    /// The files in the order in which they were named; stdin can be one of them, or of the other files of
    /// the command.
    pub(super) fn open_all<'a>(
        &'a self,
        others: impl Iterator<Item = &'a Path>,
    ) -> Result<Vec<Source>, Printout> {
        let named = self.files.iter().map(PathBuf::as_path).chain(others);
        if named.filter(|file| *file == Path::new("-")).count() > 1 {
            return Err(Printout::usage("`-` can be given once only"));
        }
        let mut sources = Vec::new();
        for file in &self.files {
            if file.is_dir() {
                for found in self.files_in(file)? {
                    sources.push(open(&found)?.found_in_a_folder());
                }
            } else {
                sources.push(open(file)?);
            }
        }
        Ok(sources)
    }

    /// As they were named.
    pub(super) fn paths(&self) -> &[PathBuf] {
        &self.files
    }

    pub(super) fn is_stdin_named(&self) -> bool {
        self.files.iter().any(|file| file == Path::new("-"))
    }

    fn files_in(&self, folder: &Path) -> Result<Vec<PathBuf>, Printout> {
        let mut found = Vec::new();
        self.collect(folder, &mut found)
            .map_err(|error| Printout::usage(&format!("{}: {error}", folder.display())))?;
        if found.is_empty() {
            let more = if self.recursive { "" } else { "; -R takes the folders below it, too" };
            let folder = folder.display();
            let message = format!("{folder}: no file in it ends in .yaml, .yml or .json{more}");
            return Err(Printout::usage(&message));
        }
        Ok(found)
    }

    /// In the order of their names. A link to a folder is not followed: it may lead back here.
    fn collect(&self, folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
        let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
        entries.sort_by_key(DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let has = |end: &&str| path.extension().is_some_and(|extension| extension == *end);
            if entry.file_type()?.is_dir() {
                if self.recursive {
                    self.collect(&path, found)?;
                }
            } else if EXTENSIONS.iter().any(has) && path.is_file() {
                found.push(path);
            }
        }
        Ok(())
    }
}

/// Whether a word is meant to be a file: no resource has such a name.
pub(super) fn looks_like_a_file(word: &str) -> bool {
    let end = word.rsplit_once('.').map(|(_, end)| end);
    word == "-" || word.contains('/') || end.is_some_and(|end| EXTENSIONS.contains(&end))
}

/// The name of a resource, where a file would be given with a flag.
pub(super) fn name_of_a_resource(word: &str) -> Result<String, String> {
    if looks_like_a_file(word) {
        return Err(format!("this is a file: use -f {word}"));
    }
    Ok(word.to_owned())
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
