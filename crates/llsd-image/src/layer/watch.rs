//! The paths that are looked for in a layer, and what was seen of them. Links add paths: one that
//! leads forward is followed in the same pass, one that leads back needs another.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    bounds::Bounds,
    entries::{Entry, EntryKind, all},
    paths::{below, plain_path, symbolic_target},
};
use crate::Error;

/// Links from one to the next until the file; real images need one or two.
const LINKS: usize = 8;
/// Paths that are watched at once, which bounds the content that is kept.
const PATHS: usize = 16;
/// In a folder, this says that layers below show nothing of it.
const OPAQUE: &str = ".wh..wh..opq";

enum Seen {
    File(Vec<u8>),
    Link(String),
    BadLink,
    Folder,
    Other,
    /// Too large to be kept; only an error if it is the one that is needed.
    TooLarge,
}

pub struct Watch {
    wanted: String,
    watched: BTreeSet<String>,
    /// Those of the watched that were known before the pass began.
    from_start: BTreeSet<String>,
    seen: BTreeMap<String, Seen>,
    deleted: BTreeSet<String>,
    /// Folders that hide what layers below hold of them; empty for the root.
    opaque: BTreeSet<String>,
}

/// What one pass over a layer was good for.
#[derive(Debug)]
pub enum Pass<T> {
    Done(T),
    /// The file lies behind a link that was met too late: read the layer again.
    Again(Watch),
}

/// What a pass came to, for a file that other layers may hold.
#[derive(Debug)]
pub enum Outcome {
    Found(Vec<u8>),
    /// Not here. The path is the wanted one after all links of this layer.
    Absent {
        path: String,
        below: Below,
    },
}

/// What layers below may still show of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Below {
    Shown,
    /// A folder on the way is new, or is no folder any more.
    Hidden,
    Deleted,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("watched", &self.watched).finish_non_exhaustive()
    }
}

impl Watch {
    /// Looks for a path in the form that [`plain_path`] gives.
    pub fn new(wanted: &str) -> Self {
        Self::with(wanted.to_owned(), [wanted.to_owned()].into())
    }

    fn with(wanted: String, watched: BTreeSet<String>) -> Self {
        let from_start = watched.clone();
        let (seen, deleted, opaque) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        Self { wanted, watched, from_start, seen, deleted, opaque }
    }

    pub(super) fn note(&mut self, entry: Entry<'_>, bounds: &Bounds) -> Result<(), Error> {
        let Some(path) = plain_path(&entry.path) else { return Ok(()) };
        let (folder, name) = path.rsplit_once('/').map_or(("", path.as_str()), |parts| parts);
        if name == OPAQUE {
            if folder.is_empty() || self.concerns(folder) {
                self.opaque.insert(folder.to_owned());
            }
            return Ok(());
        }
        if let Some(hidden) = name.strip_prefix(".wh.") {
            // Other `.wh..wh.…` are notes of the storage driver, which hide nothing.
            if !hidden.starts_with(".wh.") {
                let gone =
                    if folder.is_empty() { hidden.into() } else { format!("{folder}/{hidden}") };
                if self.concerns(&gone) {
                    self.deleted.insert(gone);
                }
            }
            return Ok(());
        }
        if !self.concerns(&path) {
            return Ok(());
        }
        // Later entries of a name replace earlier ones, as they do when a layer is unpacked.
        let seen = match entry.kind {
            EntryKind::File { size, .. } if size > bounds.file => Seen::TooLarge,
            EntryKind::File { content, size } if self.watched.contains(&path) => {
                Seen::File(all(content, size, bounds.file, bounds)?)
            }
            EntryKind::Symbolic { target } => self.link(&path, symbolic_target(&path, &target)),
            EntryKind::Hard { target } => self.link(&path, plain_path(&target)),
            EntryKind::Folder => Seen::Folder,
            EntryKind::File { .. } | EntryKind::Other => Seen::Other,
        };
        self.seen.insert(path, seen);
        Ok(())
    }

    /// Whether `path` is a watched one or a folder on the way to one.
    fn concerns(&self, path: &str) -> bool {
        self.watched.iter().any(|watched| below(watched, path).is_some())
    }

    fn link(&mut self, path: &str, target: Option<String>) -> Seen {
        let Some(target) = target else { return Seen::BadLink };
        let behind: Vec<String> = self
            .watched
            .iter()
            .filter_map(|watched| below(watched, path).map(|rest| format!("{target}{rest}")))
            .collect();
        for path in behind {
            if self.watched.len() < PATHS {
                self.watched.insert(path);
            }
        }
        Seen::Link(target)
    }

    /// The content of the file, for a layer that must hold it itself.
    pub fn required(self, limit: u64) -> Result<Pass<Vec<u8>>, Error> {
        let wanted = self.wanted.clone();
        match self.outcome(limit)? {
            Pass::Again(watch) => Ok(Pass::Again(watch)),
            Pass::Done(Outcome::Found(content)) => Ok(Pass::Done(content)),
            Pass::Done(Outcome::Absent { below: Below::Deleted, .. }) => {
                Err(Error::DeletedInLayer { path: wanted })
            }
            Pass::Done(Outcome::Absent { path, .. }) if path == wanted => {
                Err(Error::NotInLayer { path: wanted })
            }
            Pass::Done(Outcome::Absent { .. }) => Err(Error::BadLink { path: wanted }),
        }
    }

    /// Follows what was seen, from the wanted path to its file.
    pub fn outcome(mut self, limit: u64) -> Result<Pass<Outcome>, Error> {
        let wanted = self.wanted.clone();
        let bad_link = || Error::BadLink { path: wanted.clone() };
        let mut path = wanted.clone();
        for _ in 0..=LINKS {
            match self.first_link(&path) {
                Some((_, None)) => return Err(bad_link()),
                Some((link, Some(target))) => {
                    let rest = below(&path, &link).unwrap_or_default();
                    path = format!("{target}{rest}");
                    continue;
                }
                None => {}
            }
            return match self.seen.remove(&path) {
                Some(Seen::File(content)) => Ok(Pass::Done(Outcome::Found(content))),
                Some(Seen::TooLarge) => Err(Error::TooLarge { what: wanted, limit }),
                Some(_) => Err(Error::NotAFile { path: wanted }),
                None if !self.from_start.contains(&path) => {
                    let mut watched = self.from_start;
                    watched.insert(path);
                    if watched.len() > PATHS {
                        return Err(bad_link());
                    }
                    Ok(Pass::Again(Self::with(wanted, watched)))
                }
                None => Ok(Pass::Done(Outcome::Absent { below: self.below(&path), path })),
            };
        }
        Err(bad_link())
    }

    fn below(&self, path: &str) -> Below {
        if self.deleted.iter().any(|gone| below(path, gone).is_some()) {
            return Below::Deleted;
        }
        let opaque = |folder: &String| folder.is_empty() || below(path, folder).is_some();
        let replaced = |(step, seen): (&String, &Seen)| {
            !matches!(seen, Seen::Folder) && below(path, step).is_some()
        };
        if self.opaque.iter().any(opaque) || self.seen.iter().any(replaced) {
            return Below::Hidden;
        }
        Below::Shown
    }

    /// The link that is met first on the way down to `path`, and where it leads.
    fn first_link(&self, path: &str) -> Option<(String, Option<String>)> {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        ends.map(|end| &path[..end]).find_map(|step| match self.seen.get(step) {
            Some(Seen::Link(target)) => Some((step.to_owned(), Some(target.clone()))),
            Some(Seen::BadLink) => Some((step.to_owned(), None)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests;
