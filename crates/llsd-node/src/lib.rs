//! For tests only: a real Kubernetes node on this machine, with the control plane, registries and DNS
//! that it needs, in namespaces of its own. It changes nothing outside of them, and leaves nothing behind,
//! by whatever means the process that started it ends.
//!
//! ```no_run
//! # use llsd_node::{Node, NodeOptions};
//! # async fn test() {
//! let Some(node) = Node::start_or_skip(NodeOptions::default()).await else {
//!     return;
//! };
//! let image = node.push("tests/busybox", "1", &llsd_node::busybox().unwrap()).await.unwrap();
//! let client = node.client().await.unwrap();
//! // ... pods of `image` run in containers ...
//! let devices = node.run("ip", &["link"]).unwrap();
//! # drop((client, devices));
//! # }
//! ```

mod addresses;
mod configuration;
mod control_plane;
mod found;
mod images;
mod kubeconfig;
mod missing;
mod namespaces;
mod node;
mod options;
pub mod product;
mod programs;
mod readiness;
mod relay;
mod running_program;
mod start;
mod state;
mod worker;

pub use addresses::{
    API_SERVICE, DNS_SERVICE, MachineNumber, PODS, PRIVATE_REGISTRY, PULLER, REGISTRY, SERVICES,
};
pub use found::{FoundNode, MachineRecord, NodeRecord, clear_away_leftovers, running_nodes};
pub use images::{busybox, server};
pub use missing::missing;
pub use node::Node;
pub use options::NodeOptions;
pub use start::fetch;
pub use worker::Part;
