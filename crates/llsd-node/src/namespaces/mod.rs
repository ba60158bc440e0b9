//! The namespaces that a machine consists of, how they come up, and how programs are run in them.

mod machine;
mod network;
mod trial;

pub(crate) use machine::{Machine, MachineSettings, enter};
pub(crate) use network::{connect, join};
pub(crate) use trial::refusals;
