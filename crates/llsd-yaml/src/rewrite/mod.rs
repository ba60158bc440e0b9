//! Texts whose documents are changed and keep their layout: comments, order, quotes, line ends and
//! everything that did not change.

mod change;
mod comments;
mod homes;
mod layout;
mod lines;
mod pieces;
mod stream;
mod writer;

pub use change::Move;
pub use stream::{join, rewrite};
