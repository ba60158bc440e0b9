//! What a provider's image brings, as a folder: the package file and the wheels beside it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use llsd_provider::layout::{FILE, PACKAGES};
use llsd_provider::{Fault, PackageFile};

/// The package file is a page of text.
const MAX_FILE: u64 = 1 << 20;

/// The image's `/lls-provider`, or a copy of it.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
}

impl Folder {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// The package file with its text; `missing` is said where there is none.
    pub(super) fn package_file(&self, missing: &str) -> Result<(PackageFile, String), Vec<Fault>> {
        let path = self.path.join(FILE);
        let fault = |message: String, remedy: &str| vec![Fault::new(FILE, message, remedy)];
        let mut text = String::new();
        let read = File::open(&path).and_then(|file| file.take(MAX_FILE).read_to_string(&mut text));
        match read {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(fault(missing.to_owned(), "llsd provider package makes an image that has it"))
            }
            Err(error) => Err(fault(error.to_string(), "check the file and who may read it")),
            Ok(_) => PackageFile::parse(&text).map(|file| (file, text)),
        }
    }

    /// A wheel by its name, which has no slash in it.
    pub(super) fn wheel(&self, name: &str) -> Option<Result<File, String>> {
        match File::open(self.path.join(PACKAGES).join(name)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => Some(Err(error.to_string())),
            Ok(file) => match file.metadata() {
                Ok(metadata) if metadata.is_file() => Some(Ok(file)),
                Ok(_) => Some(Err("it is no file".to_owned())),
                Err(error) => Some(Err(error.to_string())),
            },
        }
    }
}
