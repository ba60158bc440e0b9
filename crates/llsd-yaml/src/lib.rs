//! YAML as the two programs around us read it: resources as kubectl does, configurations as the
//! server's PyYAML does. Everything that is read knows its place in the text, everything that is
//! written can say where it came from, and a changed document keeps the layout of its text.
//!
//! No I/O, and nothing here knows what the fields of a document mean.

mod decode;
mod dialect;
pub mod document;
mod fault;
mod path;
mod position;
mod read;
pub mod rewrite;
mod tree;

pub use decode::{MAX_BYTES, decode};
pub use fault::Fault;
pub use path::{FieldPath, Segment, value_at};
pub use position::Position;
pub use read::{Document, documents};
pub use tree::{Duplicate, Tree};
