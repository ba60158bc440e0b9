//! The product on a real node: the operator's image as it is released, in pods of its own; a real llama-stack server
//! whose image containerd pulls from a registry; a stub in the place of the model, and a client that asks without a
//! pause, in pods too.

mod add_on;
mod chat;
mod client;
mod keda;
mod metrics_server;
mod model;
mod network_policies;
mod on_node;
mod one_pod;
mod operator;
mod own_files;
mod pod_program;
mod server;
mod store_image;
mod stores;
mod traefik;
mod volumes;

pub use client::Asked;
pub use model::SERVED_MODEL;
pub use on_node::{Product, repository};
pub use operator::{OlderOperator, push_operator};
pub use server::{push_release, push_server};
