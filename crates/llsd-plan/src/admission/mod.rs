//! Admission of resources as they are written, by the same rules as `llsd validate`: a review in, a
//! decision and its answer out. Whoever serves it may add warnings in between.
//!
//! # When something is refused
//! - A new resource, for any problem.
//! - A changed resource, for problems that the old one did not have. What was wrong before is only
//!   warned of, so that it can be fixed step by step.
//! - Nothing else: not a change that leaves the spec as it is (labels, annotations, finalizers,
//!   owners), not a resource that is being deleted, not its status, not its deletion.
//!
//! Nothing is changed here, so a dry run is treated like any other request.

mod decide;
mod headers;
mod remarks;
mod review;

pub use decide::{AdmissionDecision, decide};
pub use review::{AdmissionRequest, Subject, answer};
