//! Kubelet credential-provider plugins: programs of the cluster's administrator that answer with
//! registry credentials. Configuration and binaries come from the operator's installation only; a
//! tenant chooses nothing but the image that is asked about.

mod cache;
mod config;
mod plugins;
mod process;

pub use config::{PluginConfig, ProviderConfig};
pub use plugins::{PluginLookup, ProviderPlugins};
pub use process::{PluginError, PluginFailure};
