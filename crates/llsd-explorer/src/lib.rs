//! Tries sequences of what people and clusters do, several things at once, and checks after each step what
//! must always hold. The operator's pure core ([`llsd_plan`]) plans, decides and reports as it does in a
//! cluster; around it are a simulated API server, Deployment controller, kubelet and clock.
//!
//! - [`step`]: what can happen. [`invariants`]: what must hold. Start there.
//! - [`world`]: the simulated cluster. [`operator`]: one pass of the operator over it.
//! - [`explore`]: all short sequences, random longer ones, and the shortest form of one that fails.
//! - [`shown`]: sequences that are tried on a real control plane, too, and [`ending`]: what they come to.

pub mod ending;
pub mod explore;
pub mod invariants;
pub mod operator;
pub mod say;
pub mod shown;
pub mod step;
pub mod wish;
pub mod world;
