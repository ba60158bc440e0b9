//! What the command line reads: from files and stdin to resources whose every field knows its line.
//! Nothing here judges a resource beyond its kind and version.

mod finding;
mod pick;
mod resource;
mod source;

pub use finding::Finding;
pub use llsd_yaml::{Position, Tree, documents};
pub use pick::contents;
pub use resource::{Contents, Remark, Resource};
pub use source::Source;
