//! What a status is computed from: what planning came to, what was applied, what the cluster holds
//! now, and what the running server says of itself. The controller fills it in; nothing here waits.

use std::collections::BTreeMap;

use crate::live::DeploymentState;
use crate::plan::Planning;
use crate::problem::Problem;
use crate::resource::Resource;
use crate::rollout::WriteFailure;
use k8s_openapi::jiff::Timestamp;

/// Everything that one status speaks of.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// The resource as v1alpha2, with the status that it has now.
    pub resource: &'a Resource,
    pub now: Timestamp,
    /// The operator's own version.
    pub operator_version: &'a str,
    /// The distributions that the operator knows, with the images that their names stand for.
    pub distributions: &'a BTreeMap<String, String>,
    pub pass: Pass<'a>,
    pub live: &'a Live,
    pub server: &'a Server,
    /// The digest that the image's tag points to now, where the server runs an older one.
    pub newer_digest: Option<&'a str>,
}

/// What one pass over a resource came to.
#[derive(Clone, Copy, Debug)]
pub enum Pass<'a> {
    /// The resource is being deleted, and nothing is planned for it.
    Deleting,
    Reconciled {
        planning: &'a Planning,
        applying: Applying<'a>,
    },
}

/// What became of the planned objects.
#[derive(Clone, Copy, Debug)]
pub enum Applying<'a> {
    /// Nothing was to be applied.
    Nothing,
    /// All of them are in the cluster as planned.
    Applied(&'a Applied),
    /// One of them could not be written; those after it were not tried.
    Failed(&'a WriteFailure),
}

/// What was done on the way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Objects that were written this time, as `Deployment my-llama`; empty where nothing changed.
    pub written: Vec<String>,
    pub deleted: Vec<String>,
    /// What waits in an adopted Deployment for the next change of the resource, as field paths.
    pub waiting: Vec<String>,
    /// Remarks that only the cluster's objects bring up, such as a volume that cannot shrink.
    pub warnings: Vec<Problem>,
}

/// The owned objects as the cluster holds them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Live {
    pub deployment: Option<DeploymentState>,
    pub service: bool,
    /// `None` without a claim; else its phase, `Pending`, `Bound` or `Lost`.
    pub claim: Option<String>,
    /// Where the server is reached from outside: `None` while it is not exposed, empty while no
    /// address is known.
    pub outside_url: Option<String>,
    /// The object that should expose the server and is not served, and why: `Route llama: …`.
    pub not_admitted: Option<String>,
    /// What keeps a pod from running, in the words of Kubernetes: `CrashLoopBackOff: …`.
    pub pod_trouble: Option<String>,
}

/// What the running server says.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Server {
    /// It was not asked: no pod of it is ready.
    #[default]
    NotAsked,
    /// It could not be reached, for this reason.
    Unreachable(String),
    Answered(Answers),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Answers {
    /// `Ok` where `/v1/health` says OK; else what it said.
    pub health: Result<(), String>,
    /// Its release, from `/v1/version`.
    pub version: Option<String>,
    /// From `/v1/providers`; `None` where that could not be read.
    pub providers: Option<Vec<ServerProvider>>,
}

/// A provider as the server lists it, without its configuration, in which some secrets are clear.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServerProvider {
    pub api: String,
    pub provider_id: String,
    pub provider_type: String,
    pub health_status: String,
    pub health_message: String,
}
