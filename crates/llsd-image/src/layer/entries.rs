//! The entries of a tar archive, one by one. Long names and extended headers are read here and not
//! by the archive library, which would take them into memory however long they say they are.

use std::io::Read;

use tar::{Archive, EntryType, PaxExtensions};

use super::{
    bounds::{Bounds, broken},
    decompress::Bounded,
};
use crate::Error;

/// A name that is longer is none that a file system takes.
const LONGEST_NAME: u64 = 64 << 10;
/// Extended headers hold attributes too.
const LONGEST_EXTENSION: u64 = 1 << 20;

/// What an entry is, as far as finding a file needs it.
pub(super) enum EntryKind<'a> {
    File { size: u64, content: &'a mut dyn Read },
    Symbolic { target: String },
    Hard { target: String },
    Folder,
    Other,
}

pub(super) struct Entry<'a> {
    pub(super) path: String,
    pub(super) kind: EntryKind<'a>,
}

/// What extension headers say about the entry that follows them.
#[derive(Default)]
struct Extended {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    size: Option<u64>,
}

/// Calls `visit` with every entry whose name is text; others cannot be the one that is looked for.
pub(super) fn for_each<R: Read>(
    unpacked: Bounded<R>,
    bounds: &Bounds,
    mut visit: impl FnMut(Entry<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let unreadable = |error: std::io::Error| broken(&error, bounds);
    let mut archive = Archive::new(unpacked);
    let mut extended = Extended::default();
    for entry in archive.entries().map_err(unreadable)?.raw(true) {
        let mut entry = entry.map_err(unreadable)?;
        let size = entry.size();
        match entry.header().entry_type() {
            EntryType::GNULongName => {
                extended.path = Some(without_end(all(&mut entry, size, LONGEST_NAME, bounds)?));
            }
            EntryType::GNULongLink => {
                extended.link = Some(without_end(all(&mut entry, size, LONGEST_NAME, bounds)?));
            }
            EntryType::XHeader => {
                extended.take(&all(&mut entry, size, LONGEST_EXTENSION, bounds)?)?;
            }
            EntryType::XGlobalHeader => {}
            kind => {
                let known = std::mem::take(&mut extended);
                if known.size.is_some_and(|said| said != size) {
                    // Only files above 8 GiB need this, and those are over every limit.
                    let what = "a file in the layer".to_owned();
                    return Err(Error::TooLarge { what, limit: bounds.unpacked });
                }
                let path = known.path.unwrap_or_else(|| entry.path_bytes().into_owned());
                let Ok(path) = String::from_utf8(path) else { continue };
                let link = known.link.or_else(|| entry.link_name_bytes().map(Into::into));
                let target = String::from_utf8(link.unwrap_or_default()).unwrap_or_default();
                let kind = match kind {
                    EntryType::Regular | EntryType::Continuous => {
                        EntryKind::File { size, content: &mut entry }
                    }
                    EntryType::Symlink => EntryKind::Symbolic { target },
                    EntryType::Link => EntryKind::Hard { target },
                    EntryType::Directory => EntryKind::Folder,
                    _ => EntryKind::Other,
                };
                visit(Entry { path, kind })?;
            }
        }
    }
    Ok(())
}

/// All of an entry's content, if it is no longer than `limit`.
pub(super) fn all(
    content: &mut dyn Read,
    size: u64,
    limit: u64,
    bounds: &Bounds,
) -> Result<Vec<u8>, Error> {
    if size > limit {
        return Err(Error::TooLarge { what: "a header in the layer".to_owned(), limit });
    }
    let mut bytes = Vec::new();
    content.take(limit).read_to_end(&mut bytes).map_err(|error| broken(&error, bounds))?;
    if bytes.len() as u64 != size {
        return Err(Error::malformed("the layer", "it ends within a file"));
    }
    Ok(bytes)
}

/// GNU names end with a zero byte.
fn without_end(name: Vec<u8>) -> Vec<u8> {
    name.into_iter().take_while(|byte| *byte != 0).collect()
}

impl Extended {
    fn take(&mut self, content: &[u8]) -> Result<(), Error> {
        for extension in PaxExtensions::new(content) {
            let extension = extension.map_err(|error| Error::malformed("the layer", error))?;
            match extension.key_bytes() {
                b"path" => self.path = Some(extension.value_bytes().to_vec()),
                b"linkpath" => self.link = Some(extension.value_bytes().to_vec()),
                b"size" => {
                    let text = extension.value().unwrap_or_default();
                    let unclear = |_| Error::malformed("the layer", "a size in it is no number");
                    self.size = Some(text.parse().map_err(unclear)?);
                }
                _ => {}
            }
        }
        Ok(())
    }
}
