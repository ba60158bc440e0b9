//! Wheels, read within bounds and believed only where everything in them fits together.

mod archive;
mod contents;
mod elf;
mod file_name;
mod metadata;
mod placing;
mod record;
mod scripts;

pub use archive::MAX_UNPACKED;
pub use contents::Wheel;
pub use file_name::FileName;
pub use metadata::Metadata;
pub use placing::Placed;
