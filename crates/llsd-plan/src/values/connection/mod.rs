//! A database's connection string taken apart, because most servers have no place for a whole one.
//! The parts are secrets: the type can be neither printed nor serialised, and no message here
//! repeats a piece of the text.

mod forms;
mod parse;

pub use forms::Form;
pub use parse::Connection;
