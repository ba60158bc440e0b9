//! Stands in for scheduler and kubelet, and really runs the pods: every container is a process of
//! this machine with its own file system, network and environment, as its pod describes them.
//!
//! Each pod has a network of its own with nothing but loopback, so that two pods can listen on the
//! same port and none is seen from outside. Each container has a file system of its own: the
//! programs of this machine, what stands for its image, and its volumes. Nothing is left on this
//! machine, however the test ends. Root can do all of it; other users where user namespaces are
//! allowed, with one user id for everything on the host. A control plane has one stand-in at a
//! time.
//!
//! What a real node makes of pods, and how this one differs, is the table `pod_cases.yaml` of the test kit, which
//! tests run on both.
//! Not stood in for: limits on CPU, node selectors and affinity, DNS, Services between pods, volumes that change while they
//! are mounted, mount points below `/usr` that are not there, gRPC probes, hooks other than a `preStop` that sleeps.
//!
//! Here with the real server:
//!
//! ```no_run
//! # use llsd_kubelet::{ImageStandIn, RunningKubelet};
//! # use llsd_testkit::{ControlPlane, OpenAiStub, Release};
//! # async fn test(cluster: ControlPlane, stub: OpenAiStub) -> anyhow::Result<()> {
//! let venv = Release::newest().install()?;
//! let kubelet = RunningKubelet::start(&cluster, move |_| Some(ImageStandIn::server(&venv))).await?;
//! // A resource may say `endpoint: http://vllm:8000`.
//! kubelet.let_pods_reach("vllm", 8000, stub.url().trim_start_matches("http://").parse()?)?;
//! let template = kubelet.server_url_template(); // for the operator's --server-url-template
//! // ... let the operator make a Deployment ...
//! let providers = format!("{}/default/my-server-service/v1/providers", kubelet.proxy_url());
//! # drop((template, providers));
//! # Ok(())
//! # }
//! ```

mod claims;
mod container;
mod context;
mod environment;
mod events;
mod image;
mod kubelet;
mod memory;
mod namespaces;
mod network;
mod objects;
mod pod;
mod prepared;
mod probe;
mod process;
mod record;
mod refusal;
mod routing;
mod sandbox;
mod scheduler;
mod services;
mod snapshot;
mod stop;
mod view;
mod volumes;
mod watch;

pub use image::ImageStandIn;
pub use kubelet::RunningKubelet;
