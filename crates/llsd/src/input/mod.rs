//! What the command line reads: from files and stdin to resources whose every field knows its line.
//! Nothing here judges a resource beyond its kind and version.

mod assemble;
mod documents;
mod fault;
mod finding;
mod mapping;
mod parts;
mod pick;
mod resource;
mod scalar;
mod source;
mod tree;

pub use documents::{Document, documents};
pub use fault::Fault;
pub use finding::Finding;
pub use parts::{Parts, parts};
pub use pick::contents;
pub use resource::{Contents, Remark, Resource};
pub use source::Source;
pub use tree::{Duplicate, Position, Tree};
