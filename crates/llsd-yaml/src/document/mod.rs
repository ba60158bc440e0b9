//! A configuration document in which every node knows where it came from. Reading, changing and
//! writing it keeps the base's order, so a generated file differs from its base only where somebody
//! asked for it.

mod node;
mod word;
mod write;

pub use crate::read::value as read;
pub use node::{Content, Node, Origin};
pub use write::{Line, lines, manifest, text};
