//! What a check found in all its files, and the forms it is printed in: text for people, JSON for programs,
//! SARIF and workflow commands for what shows findings beside the lines of a change.

mod github;
mod json;
mod sarif;
mod summary;
mod text;

pub use summary::Report;
pub use text::StreamTexts;
pub(crate) use text::counted;
