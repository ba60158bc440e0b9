//! How a node is to be.

use std::path::PathBuf;

/// One machine with the defaults of Kubernetes, until something else is said.
#[derive(Debug, Clone)]
#[must_use]
pub struct NodeOptions {
    pub(crate) machines: u8,
    pub(crate) api_server: Vec<String>,
    pub(crate) controller_manager: Vec<String>,
    pub(crate) logs: Option<PathBuf>,
}

impl Default for NodeOptions {
    fn default() -> Self {
        Self { machines: 1, api_server: Vec::new(), controller_manager: Vec::new(), logs: None }
    }
}

impl NodeOptions {
    /// So many machines, each with a kubelet of its own. The first also has the control plane, so only
    /// the others can be lost.
    pub fn machines(mut self, count: u8) -> Self {
        self.machines = count.max(1);
        self
    }

    /// One more flag for kube-apiserver.
    pub fn api_server_flag(mut self, flag: impl Into<String>) -> Self {
        self.api_server.push(flag.into());
        self
    }

    /// One more flag for kube-controller-manager, for example `--node-monitor-grace-period=15s`.
    pub fn controller_manager_flag(mut self, flag: impl Into<String>) -> Self {
        self.controller_manager.push(flag.into());
        self
    }

    /// A folder for the logs of all programs. It stays, whereas the node's own folder goes with it.
    pub fn logs(mut self, folder: impl Into<PathBuf>) -> Self {
        self.logs = Some(folder.into());
        self
    }
}
