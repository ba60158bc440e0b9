//! The command lines and files of the programs of a node.

mod control_plane;
mod dns;
mod flag;
mod machine;
mod registries;

pub(crate) use control_plane::ControlPlaneFlags;
pub(crate) use dns::{corefile, dns_objects};
pub(crate) use machine::MachineFiles;
pub(crate) use registries::{Registries, hosts};
