//! The steps of a reconcile that wait for something, one file or folder each.

pub mod apply;
pub mod gather;
pub mod history;
pub mod observe;
pub mod prune;
pub mod record_image;
pub mod report;
pub mod unwatched;
