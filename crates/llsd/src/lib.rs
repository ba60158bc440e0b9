//! The one binary of the product, as a library: `command` is the command line, and `operator` is what
//! `llsd run` starts.

// Nobody depends on this library but the program and its tests: a type has `Debug` where something prints it.
#![allow(missing_debug_implementations)]

pub mod command;
pub mod operator;
mod provider_image;
mod server_image;
