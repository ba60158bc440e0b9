//! Where text comes from: files and stdin, bounded in size, decoded as kubectl decodes them.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use llsd_yaml::{Fault, MAX_BYTES, decode};

/// A file's name as the user wrote it, and its text unless that cannot be read as text.
#[derive(Clone, Debug)]
pub struct Source {
    pub name: String,
    pub text: Result<String, Fault>,
}

impl Source {
    /// Reads the file `path`, or stdin for `-`. Only a file that cannot be opened or read is an
    /// error here; one with the wrong content is a finding like any other.
    pub fn open(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") {
            return Self::read("-", io::stdin().lock());
        }
        let name = path.display().to_string();
        Self::read(&name, File::open(path)?)
    }

    pub fn read(name: &str, stream: impl Read) -> io::Result<Self> {
        let mut bytes = Vec::new();
        stream.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
        Ok(Self { name: name.to_owned(), text: decode(bytes) })
    }
}
