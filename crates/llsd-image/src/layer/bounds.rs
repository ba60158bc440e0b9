//! What reading a layer may cost, and the error of a reader that stopped there.

use std::time::Instant;

use crate::Error;

/// What one pass over a layer may cost.
#[derive(Clone, Debug)]
pub struct Bounds {
    pub unpacked: u64,
    pub file: u64,
    pub deadline: Instant,
}

/// Faults that travel through `std::io`, because decoders and archives only know that.
#[derive(Debug, thiserror::Error)]
pub(super) enum Stop {
    #[error("it unpacks to more than the limit")]
    TooLarge,
    #[error("it takes too long to unpack")]
    TooLong,
}

/// An archive's read error in this crate's words.
pub(super) fn broken(error: &std::io::Error, bounds: &Bounds) -> Error {
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
