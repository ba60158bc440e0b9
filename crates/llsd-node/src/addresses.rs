//! The names and addresses of everything in the node's network. It is a private one, so they are the
//! same in every node.

/// Where Services have their addresses.
pub const SERVICES: &str = "10.96.0.0/16";
/// The Service of the API server.
pub const API_SERVICE: &str = "10.96.0.1";
/// The Service of DNS.
pub const DNS_SERVICE: &str = "10.96.0.10";
/// Where all pods have their addresses.
pub const PODS: &str = "10.244.0.0/16";
/// The domain of Services.
pub const DOMAIN: &str = "cluster.local";
/// The registry that everybody may pull from.
pub const REGISTRY: &str = "registry.llsd.test:5000";
/// The same images over TLS, for those who know the password.
pub const PRIVATE_REGISTRY: &str = "private.llsd.test:5001";
/// Who may pull from the private registry.
pub const PULLER: (&str, &str) = ("puller", "let-me-pull");

/// Which of the machines of a cluster. The first one also runs the control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MachineNumber(pub u8);

impl MachineNumber {
    pub const FIRST: Self = Self(1);

    /// The name of its Node.
    pub fn name(self) -> String {
        format!("node-{}", self.0)
    }

    pub fn address(self) -> String {
        format!("192.168.77.{}", self.0)
    }

    /// Where its pods have their addresses.
    pub fn pods(self) -> String {
        format!("10.244.{}.0/24", self.0)
    }
}

/// A host name without its port.
pub(crate) fn host(registry: &str) -> &str {
    registry.split_once(':').map_or(registry, |(host, _)| host)
}
