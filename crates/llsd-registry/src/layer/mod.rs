//! Finds one file in a layer: unpacks as it reads, keeps nothing but what was asked for, writes
//! nothing to disk, and stays within its limits whatever the archive says.

mod decompress;
mod entries;
mod paths;
mod pipe;
mod watch;

use std::{io::Read, time::Instant};

use crate::{Error, Limits};

pub use paths::plain_path;
pub(crate) use pipe::pipe;
pub(crate) use watch::{Below, Outcome, Verdict, Watch};

/// What one pass over a layer may cost.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    pub(crate) unpacked: u64,
    pub(crate) file: u64,
    pub(crate) deadline: Instant,
}

/// Reads the whole layer once and notes what it holds of the watched paths.
pub(crate) fn scan(layer: impl Read, watch: &mut Watch, bounds: &Bounds) -> Result<(), Error> {
    let unpacked = decompress::unpacked(layer, bounds)?;
    entries::for_each(unpacked, bounds, |entry| watch.note(entry, bounds))
}

/// Passes over one layer; each link that leads back takes one.
pub(crate) const PASSES: usize = 4;

/// A file of a layer that is at hand as a whole.
pub fn file_in(layer: &[u8], path: &str, limits: &Limits) -> Result<Vec<u8>, Error> {
    let absent = || Error::NotInLayer { path: path.to_owned() };
    let deadline = Instant::now() + limits.lookup;
    let bounds = Bounds { unpacked: limits.unpacked_layer, file: limits.file, deadline };
    let mut watch = Watch::new(&plain_path(path).ok_or_else(absent)?);
    for _ in 0..PASSES {
        scan(layer, &mut watch, &bounds)?;
        match watch.outcome(bounds.file)? {
            Outcome::Found(content) => return Ok(content),
            Outcome::Again(next) => watch = next,
        }
    }
    Err(Error::BadLink { path: path.to_owned() })
}

/// Faults that travel through `std::io`, because decoders and archives only know that.
#[derive(Debug, thiserror::Error)]
enum Stop {
    #[error("it unpacks to more than the limit")]
    TooLarge,
    #[error("it takes too long to unpack")]
    TooLong,
}

/// An archive's read error in this crate's words.
fn broken(error: &std::io::Error, bounds: &Bounds) -> Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(Stop::TooLarge) => {
            Error::TooLarge { what: "the unpacked layer".to_owned(), limit: bounds.unpacked }
        }
        Some(Stop::TooLong) => {
            Error::TimedOut { host: "the layer".to_owned(), what: "it takes too long to unpack" }
        }
        None => Error::malformed("the layer", error),
    }
}
