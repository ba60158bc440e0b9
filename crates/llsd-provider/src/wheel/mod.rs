//! Wheels, read within bounds and believed only where everything in them fits together.

mod archive;
mod contents;
mod elf;
mod metadata;
mod placing;
mod record;
mod scripts;

pub use archive::MAX_UNPACKED;
pub use contents::Wheel;
pub use metadata::Metadata;
pub use placing::Placed;
pub(crate) use record::recorded;
