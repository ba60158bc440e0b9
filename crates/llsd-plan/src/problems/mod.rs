//! What a user can get wrong, as data, and the names that a misspelt one was probably meant to be.

mod problem;
pub mod suggest;

pub use problem::{FieldPath, Findings, Problem, Reason, Segment};
