//! The labels under which images carry their configuration: read, and written.

mod change;
mod read;

pub use change::{Change, INLINE_BELOW};
pub use read::{
    FILE_FAMILIES, INLINE, LAYER, Labels, Location, PATH, Source, VERSION, config_version, locate,
    release,
};
