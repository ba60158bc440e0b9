//! The one binary of the product, as a library: `command` is the command line, `operator` is what
//! `llsd run` starts, and `manifests` are the install files that both agree on.

pub mod command;
pub mod manifests;
pub mod operator;
