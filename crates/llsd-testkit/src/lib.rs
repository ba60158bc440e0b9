//! For tests only: a real Kubernetes control plane on loopback, what stands in for its kubelet, a
//! real registry, and the real servers that the operator runs.
//!
//! ```no_run
//! # use llsd_testkit::{ControlPlane, PodState};
//! # async fn test() {
//! let Some(cluster) = ControlPlane::builder()
//!     .with_controller_manager()
//!     .start_or_skip()
//!     .await
//! else {
//!     return;
//! };
//! let kubelet = cluster.kubelet(|_| PodState::Ready).await.unwrap();
//! let before = cluster.audit().mark().await.unwrap();
//! let client = cluster.client_for("operator", &["system:masters"]);
//! // ... let the operator work ...
//! let requests = cluster.audit().requests_of("operator").await.unwrap();
//! assert!(requests.since(before).writes().is_empty());
//! # drop((client, kubelet));
//! # }
//! ```
//!
//! | variable | meaning |
//! |---|---|
//! | `LLSD_TEST_KUBERNETES` | the minor to test against: 1.33, 1.35, 1.36 (default) or 1.37 |
//! | `LLSD_TEST_SERVERS` | releases of the server to test against: `all`, or for example `0.4.7,0.7.3` (default 0.7.3, and what takes long is left out) |
//! | `KUBEBUILDER_ASSETS` | a folder with etcd, kube-apiserver and so on, taken as it is |
//! | `LLSD_CACHE` | where programs are kept, else `$XDG_CACHE_HOME/llsd`, else `~/.cache/llsd` |
//! | `CI=true` | a test without what it runs against fails instead of being skipped |

mod access;
mod account;
mod announce;
mod audit;
mod audit_log;
mod binaries;
mod builder;
mod cache;
mod control_plane;
mod demo;
mod flags;
mod kubelet;
mod llama_stack;
pub mod loopback_client;
pub mod node;
mod oidc_provider;
mod ollama_stub;
mod openai_stub;
mod pki;
mod pod_cases;
mod postgres;
mod process;
mod program;
mod programs;
mod prometheus;
mod python;
mod readiness;
mod redis;
mod registry;
mod shared;
mod skip;
mod wheel;
mod while_used;

pub use access::{Kubectl, MASTERS};
pub use announce::announce;
pub use audit::{Audit, Mark, Requests};
pub use audit_log::Request;
pub use binaries::{Binary, GoProgram, Kubernetes, locate, required_release};
pub use builder::{Builder, free_port};
pub use control_plane::ControlPlane;
pub use demo::{Narrator, llsd_program, run_demo};
pub use kubelet::{Kubelet, PodState};
pub use llama_stack::{
    Answer, Boot, Candidate, CheckResult, Checker, Decided, Decisions, ImageArchive,
    InstalledField, InstalledType, LlamaStackServer, Release, SMALL_BASE, TOKENIZERS, Venv,
};
pub use oidc_provider::OidcProvider;
pub use ollama_stub::OllamaStub;
pub use openai_stub::{OpenAiStub, StubRequest};
pub use pki::{Identity, Pki};
pub use pod_cases::PodCase;
pub use postgres::{Postgres, PostgresBuilder};
pub use process::{Watchdog, last_lines};
pub use program::Program;
pub use programs::{locate as debian_program, locate_file as debian_file};
pub use prometheus::{Prometheus, promtool};
pub use redis::{Redis, RedisBuilder};
pub use registry::{ImageSigner, RegistryBuilder, RegistryServer, TestImage, TestLayer, User};
pub use shared::SharedControlPlane;
pub use skip::{Unobtainable, skip, skipped, started_or_skipped, test_name};
pub use wheel::TestWheel;
pub use while_used::{InUse, WhileUsed};

/// rustls panics when two providers are compiled in and none was chosen. A test that chose one
/// before keeps its choice.
pub fn install_crypto_provider() {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
}
