//! Random resources, of which the operator and real servers must think the same: what the operator generates, the
//! server takes without dropping anything; what the operator refuses, the server would not have taken.
//!
//! - [`random_resource`]: what is asked for. The provider types, their fields and values are those of the *installed*
//!   release, so that a mistake in the operator's own tables is found and not repeated.
//! - [`base`]: what it is laid over: the distributions, and random parts of them.
//! - [`mutated_sample`]: the samples with a mistake, in its place.
//! - [`trial`]: one resource on one base, planned. [`lost`]: what of it is nowhere in the file.
//! - [`obvious`]: the file that a person would have written.
//! - [`examine`]: what the server thinks of many trials at once; [`finding`]: where the two disagree.
//! - [`minimise`] and [`golden`]: the smallest resource that shows it, as a golden case.

pub mod base;
pub mod examine;
pub mod finding;
pub mod golden;
pub mod lost;
pub mod minimise;
pub mod mutated_sample;
pub mod obvious;
pub mod origin;
pub mod random;
pub mod random_resource;
pub mod run;
pub mod trial;
