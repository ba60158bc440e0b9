//! What a check found in all its files, and the two forms it is printed in: text for people, JSON
//! for programs.

mod json;
mod summary;
mod text;

pub use summary::Report;
pub use text::StreamTexts;
pub(crate) use text::counted;
