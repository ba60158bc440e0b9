//! Finds one file in a layer: unpacks as it reads, keeps nothing but what was asked for, writes
//! nothing to disk, and stays within its limits whatever the archive says.

mod bounds;
mod decompress;
mod entries;
mod paths;
mod watch;

use std::{io::Read, time::Instant};

use crate::{Error, Limits};

pub use bounds::Bounds;
pub use paths::plain_path;
pub use watch::{Below, Outcome, Pass, Watch};

/// Reads the whole layer once and notes what it holds of the watched paths.
pub fn scan(layer: impl Read, watch: &mut Watch, bounds: &Bounds) -> Result<(), Error> {
    let unpacked = decompress::unpacked(layer, bounds)?;
    entries::for_each(unpacked, bounds, |entry| watch.note(entry, bounds))
}

/// Passes over one layer; each link that leads back takes one.
pub const PASSES: usize = 4;

/// A file of a layer that is at hand as a whole.
pub fn file_in(layer: &[u8], path: &str, limits: &Limits) -> Result<Vec<u8>, Error> {
    let absent = || Error::NotInLayer { path: path.to_owned() };
    let deadline = Instant::now() + limits.lookup;
    let bounds = Bounds { unpacked: limits.unpacked_layer, file: limits.file, deadline };
    let mut watch = Watch::new(&plain_path(path).ok_or_else(absent)?);
    for _ in 0..PASSES {
        scan(layer, &mut watch, &bounds)?;
        match watch.required(bounds.file)? {
            Pass::Done(content) => return Ok(content),
            Pass::Again(next) => watch = next,
        }
    }
    Err(Error::BadLink { path: path.to_owned() })
}
