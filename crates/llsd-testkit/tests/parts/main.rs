//! Every part of the test kit does what tests rely on.

mod audit;
mod control_plane;
mod databases;
mod kubelet;
mod llama_stack;
