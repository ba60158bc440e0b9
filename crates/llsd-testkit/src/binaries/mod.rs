//! Where etcd, the programs of Kubernetes and others in Go come from: `KUBEBUILDER_ASSETS`, then the
//! cache folder, then what is published, then Go source. Nothing here starts them.

mod cached;
mod download;
mod go_build;
mod go_program;
mod go_source;
mod go_toolchain;
mod locate;
mod published;
mod version;

pub use go_program::{GoProgram, required_release};
pub use locate::locate;
pub use version::{Binary, Kubernetes};
