//! One pass of the operator over the simulated cluster, in the steps of its pipeline: gather, plan, survey,
//! decide, apply, prune, observe, report. Whatever decides is the operator's own code; what is here only reads
//! and writes, as the steps of the controller do that wait for a real cluster.

mod pass;
mod planning;
mod report;
mod survey;
mod write;

pub use pass::{reconcile, stall, wake};
pub use planning::image_of_operator;
