//! What a status is computed from: what planning came to, what was applied, what the cluster holds
//! now, and what the running server says of itself. The controller fills it in; nothing here waits.

use std::collections::BTreeMap;

use crate::live::DeploymentState;
use crate::live::installation::Installation;
use crate::plan::Planning;
use crate::problems::Problem;
use crate::resource::Resource;
use crate::rollout::preflight::Preflight;
use crate::rollout::wave::Waiting;
use crate::rollout::{Contention, KeptTemplate, Return, WriteFailure};
use k8s_openapi::jiff::Timestamp;
use llsd_api::v1alpha2::ProviderHealth;

/// Everything that one status speaks of.
#[derive(Clone, Copy, Debug)]
pub struct StatusInputs<'a> {
    /// The resource as v1alpha2, with the status that it has now.
    pub resource: &'a Resource,
    pub now: Timestamp,
    /// The operator's own version.
    pub operator_version: &'a str,
    /// The distributions that the operator knows, with the images that their names stand for.
    pub distributions: &'a BTreeMap<String, String>,
    pub pass: Pass<'a>,
    pub live: &'a ObservedObjects,
    pub server: &'a ServerAnswer,
    /// Where the image's tag points to by now.
    pub tag: &'a TagNow,
    /// What the operator cannot do for the resource.
    pub limitations: &'a [Limitation],
}

impl StatusInputs<'_> {
    /// Whether the server that runs asks its callers who they are.
    pub(super) fn asks_callers(&self) -> bool {
        self.resource.asks_callers() && !self.live.serves_open
    }
}

/// Where the tag of a running image points to by now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TagNow {
    /// The registry was not asked, or does not answer: what was known before stands.
    #[default]
    Unknown,
    /// To what runs; or nothing runs that a tag could have left behind.
    Unmoved,
    /// To this digest, while an older one runs.
    Moved(String),
    /// Those of external providers' images to these digests, while older ones are installed; and the
    /// server's to this one, where it moved too.
    ProvidersMoved { server: Option<String>, providers: Vec<(String, String)> },
}

impl TagNow {
    /// The same with what is known of the tags of external providers' images.
    #[must_use]
    pub fn beside(self, tags: Vec<(String, Self)>) -> Self {
        let none = tags.is_empty();
        let is_unknown = tags.iter().any(|(_, tag)| *tag == Self::Unknown);
        let moved = tags.into_iter().filter_map(|(image, tag)| match tag {
            Self::Moved(digest) => Some((image, digest)),
            _ => None,
        });
        let providers: Vec<(String, String)> = moved.collect();
        match self {
            other if providers.is_empty() => match other {
                Self::Unmoved if is_unknown => Self::Unknown,
                // Or what was told of them before would stand while the server's registry is away.
                Self::Unknown if !is_unknown && !none => Self::Unmoved,
                other => other,
            },
            Self::Moved(digest) => Self::ProvidersMoved { server: Some(digest), providers },
            _ => Self::ProvidersMoved { server: None, providers },
        }
    }
}

/// Something that the operator cannot do for a resource, in a sentence for the cluster's
/// administrator.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limitation {
    /// Its roles do not allow it.
    Forbidden(String),
    /// A watch is not up to date for another reason.
    NotWatched(String),
}

/// What one pass over a resource came to.
#[derive(Clone, Copy, Debug)]
pub enum Pass<'a> {
    /// The resource is being deleted, and nothing is planned for it.
    Deleting,
    /// The resource is paused: everything is left as it is.
    Paused {
        /// The inputs that its Deployment was not made from; `None` where that is not known now.
        waiting: Option<&'a [String]>,
    },
    /// Another installation of the operator manages the resource, and everything is left as it is.
    Contended(&'a Contention),
    /// What must be known before anything is planned could not be read, as the limitations say.
    /// Everything is left as it is.
    Hindered,
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
    /// Objects that are no longer asked for and could not be deleted.
    pub undeleted: Vec<WriteFailure>,
    /// Why the Deployment that was written has another pod template; empty where it has not.
    pub causes: Vec<String>,
    /// The template that the Deployment keeps although another one is planned.
    pub kept: Option<KeptTemplate>,
    /// What became of the preflight of the change, where one was needed.
    pub preflight: Option<Box<Preflight>>,
    /// What a change of inputs that other servers share waits for, where it has to.
    pub turn: Option<Box<Waiting>>,
    /// Remarks that only the cluster's objects bring up, such as a volume that cannot shrink.
    pub warnings: Vec<Problem>,
    /// ConfigMaps with start programs that the pods mount, and that are missing and cannot be made.
    pub lost: Vec<String>,
}

/// The owned objects as the cluster holds them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedObjects {
    pub deployment: Option<DeploymentState>,
    /// That its template is one of before.
    pub rolled_back: Option<Return>,
    /// Pods serve that ask nobody who they are.
    pub serves_open: bool,
    pub service: bool,
    /// `None` without a claim; else its phase, `Pending`, `Bound` or `Lost`.
    pub claim: Option<String>,
    /// The claim's volume is to grow: its size, and the one that is asked for.
    pub claim_grows: Option<(String, String)>,
    /// Where the server is reached from outside: `None` while it is not exposed, empty while no
    /// address is known.
    pub outside_url: Option<String>,
    /// The object that should expose the server and is not served, and why: `Route llama: …`.
    pub not_admitted: Option<String>,
    /// What a pod waits for before its server can start, in the words of the program that waits.
    pub models_awaited: Option<String>,
    /// How the newest pod installs external providers, by the names of its init containers.
    pub installations: BTreeMap<String, Installation>,
    /// What keeps a pod from running, in the words of Kubernetes: `CrashLoopBackOff: …`.
    pub pod_trouble: Option<String>,
}

/// What the running server says.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ServerAnswer {
    /// It was not asked: no pod of it is ready.
    #[default]
    NotAsked,
    /// It is being asked, and no answer is in since its pods changed: what was known before stands.
    Awaited,
    /// It could not be reached, for this reason.
    Unreachable(String),
    /// It serves another certificate than the one in its Secret, or there is none to compare with.
    Untrusted(String),
    Answered(Answers),
}

impl ServerAnswer {
    /// What it answered, if it did.
    pub(super) fn answers(&self) -> Option<&Answers> {
        match self {
            Self::Answered(answers) => Some(answers),
            Self::NotAsked | Self::Awaited | Self::Unreachable(_) | Self::Untrusted(_) => None,
        }
    }
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

/// A provider as the server lists it, without its configuration, in which some secrets are clear, and
/// without the message of its health, in which a server may quote one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServerProvider {
    pub api: String,
    pub provider_id: String,
    pub provider_type: String,
    pub health: ProviderState,
}

/// How a provider is, in the server's own words of which there are three.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProviderState {
    Ok,
    Error,
    /// The provider has no health check.
    NotImplemented,
    /// The server says nothing, or something else.
    Unknown,
}

impl ProviderState {
    /// From the server's word; anything else than its three words is not repeated.
    pub fn parse(word: &str) -> Self {
        let mut all = [Self::Ok, Self::Error, Self::NotImplemented].into_iter();
        all.find(|state| state.word().eq_ignore_ascii_case(word)).unwrap_or(Self::Unknown)
    }

    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Error => "Error",
            Self::NotImplemented => "Not Implemented",
            Self::Unknown => "Unknown",
        }
    }

    /// As the status has it: how the provider is, and where to look if it is ill.
    pub(super) fn told(self, provider_id: &str) -> ProviderHealth {
        let message = match self {
            Self::Ok | Self::Unknown => String::new(),
            Self::NotImplemented => "The provider has no health check".to_owned(),
            Self::Error => format!(
                "Provider {provider_id} is unhealthy; the server's answer to GET \
                 /v1/providers/{provider_id} and its log say why"
            ),
        };
        ProviderHealth { status: self.word().to_owned(), message }
    }
}
