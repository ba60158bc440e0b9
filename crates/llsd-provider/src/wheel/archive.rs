//! A zip archive that nobody vouches for: few enough entries, small enough when unpacked, names that
//! stay below the folder that they are unpacked into, and nothing but files.

use std::io::{self, Read, Seek};

use zip::ZipArchive;

/// What a wheel may come to when it is unpacked: the volume that it goes to is no larger.
pub const MAX_UNPACKED: u64 = 2 << 30;
/// More files than any wheel that was ever seen has.
const MAX_FILES: usize = 50_000;
/// Metadata is read into memory.
const MAX_TEXT: u64 = 4 << 20;
/// The kind of a file within its Unix mode.
const KIND: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const EXECUTABLE: u32 = 0o111;

/// One file of the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    index: usize,
    pub(crate) path: String,
    pub(crate) size: u64,
    pub(crate) is_executable: bool,
}

/// The files of an archive, by their order in it.
pub(crate) struct Archive<R> {
    zip: ZipArchive<R>,
    entries: Vec<Entry>,
}

impl<R> std::fmt::Debug for Archive<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Archive").field("entries", &self.entries.len()).finish_non_exhaustive()
    }
}

impl<R: Read + Seek> Archive<R> {
    /// Reads the list of files; everything that is wrong with it.
    pub(crate) fn open(reader: R) -> Result<Self, Vec<String>> {
        let broken = |error: &dyn std::fmt::Display| vec![format!("it is no zip archive: {error}")];
        let mut zip = ZipArchive::new(reader).map_err(|error| broken(&error))?;
        if zip.len() > MAX_FILES {
            return Err(vec![format!("it has {} files, more than {MAX_FILES}", zip.len())]);
        }
        let mut wrong = Vec::new();
        if zip.has_duplicate_names() {
            wrong.push("it has two files of one name".to_owned());
        }
        if zip.has_overlapping_files().map_err(|error| broken(&error))? {
            wrong.push("files in it lie over each other".to_owned());
        }
        let mut entries = Vec::new();
        for index in 0..zip.len() {
            let file = zip.by_index_raw(index).map_err(|error| broken(&error))?;
            let Ok(path) = file.name().map(std::borrow::Cow::into_owned) else {
                wrong.push("the name of a file in it is no text".to_owned());
                continue;
            };
            let mode = file.unix_mode().unwrap_or(REGULAR);
            if file.is_dir() {
                wrong.extend(escapes(path.trim_end_matches('/')));
            } else if let Some(why) = escapes(&path) {
                wrong.push(why);
            } else if file.is_symlink() || !matches!(mode & KIND, REGULAR | 0) {
                wrong.push(format!("{} is no file but a link or a device", shown(&path)));
            } else if file.encrypted() {
                wrong.push(format!("{} is encrypted", shown(&path)));
            } else {
                let is_executable = mode & EXECUTABLE != 0;
                entries.push(Entry { index, path, size: file.size(), is_executable });
            }
        }
        let unpacked = entries.iter().fold(0_u64, |sum, entry| sum.saturating_add(entry.size));
        if unpacked > MAX_UNPACKED {
            wrong.push(format!("it unpacks to more than {} GiB", MAX_UNPACKED >> 30));
        }
        if wrong.is_empty() { Ok(Self { zip, entries }) } else { Err(wrong) }
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// A file as it unpacks. It ends with an error where it is longer than the archive says, or where
    /// its checksum is another.
    pub(crate) fn file(&mut self, entry: &Entry) -> io::Result<impl Read> {
        let file = self.zip.by_index(entry.index).map_err(io::Error::from)?;
        Ok(Exactly { inner: file, left: entry.size })
    }

    /// A small file as text.
    pub(crate) fn text(&mut self, path: &str) -> Result<Option<String>, String> {
        let Some(entry) = self.entries.iter().find(|entry| entry.path == path).cloned() else {
            return Ok(None);
        };
        if entry.size > MAX_TEXT {
            return Err(format!("{path} is longer than {} MiB", MAX_TEXT >> 20));
        }
        let mut text = String::new();
        let mut file = self.file(&entry).map_err(|error| format!("{path}: {error}"))?;
        file.read_to_string(&mut text).map_err(|error| format!("{path}: {error}"))?;
        Ok(Some(text))
    }
}

/// What a name would do beside naming a file below a folder.
fn escapes(path: &str) -> Option<String> {
    let is_odd = |part: &str| part.is_empty() || part == ".";
    let what = if path.split('/').any(|part| part == "..") {
        "climbs out of the wheel"
    } else if path.starts_with('/') || path.contains(':') {
        "is an absolute path"
    } else if path.contains(['\\', '\0', '\n', '\r']) || path.split('/').any(is_odd) {
        "is no path of a file in a wheel"
    } else {
        return None;
    };
    Some(format!("{} {what}", shown(path)))
}

/// A name for people: whoever made it may have put anything there.
fn shown(path: &str) -> String {
    path.chars().take(120).map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// Reads as much as was announced, and takes no more.
struct Exactly<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Exactly<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let longer = || io::Error::other("it is longer than the archive says");
        self.left = self.left.checked_sub(count as u64).ok_or_else(longer)?;
        if count == 0 && self.left > 0 && !buffer.is_empty() {
            return Err(io::Error::other("it is shorter than the archive says"));
        }
        Ok(count)
    }
}
