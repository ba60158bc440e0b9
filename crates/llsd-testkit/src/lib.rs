//! For tests only: a real Kubernetes control plane on loopback, and what stands in for its kubelet.
