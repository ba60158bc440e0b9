//! The one binary of the product, as a library: `command` is the command line, and `operator` is what
//! `llsd run` starts.

pub mod command;
pub mod operator;
mod provider_image;
