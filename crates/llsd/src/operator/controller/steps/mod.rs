//! The steps of a reconcile that wait for something, one file or folder each. What they share stands beside
//! them: the preflight, the history of a server, its pods, objects that no
//! watch shows, what the resources of a namespace share, and the two ways to write.

pub mod apply;
pub mod gather;
mod history;
pub mod observe;
mod pods;
mod preflight;
pub mod prune;
pub mod report;
pub mod shared;
pub mod survey;
mod turn;
pub mod unwatched;
pub mod writer;
