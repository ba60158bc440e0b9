//! Where etcd, kube-apiserver, kube-controller-manager and kubectl come from: `KUBEBUILDER_ASSETS`,
//! then the cache folder, then the published archives, then Go source. Nothing here starts them.

mod cached;
mod download;
mod go_build;
mod go_toolchain;
mod locate;
mod published;
mod version;

pub use locate::locate;
pub use version::{Binary, Kubernetes};
