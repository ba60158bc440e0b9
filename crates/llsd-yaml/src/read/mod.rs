//! One reader for both dialects: a parser's events put together into trees within bounds, as the
//! documents of a file of resources or as the one value of a configuration.

mod assemble;
mod documents;
mod events;
mod mapping;
mod parts;
mod value;

pub use documents::{Document, documents};
pub(crate) use parts::parts;
pub use value::value;
