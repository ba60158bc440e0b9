//! The resource's status and the events of one reconcile, computed from what was observed.
//!
//! A status speaks of two things at once, and never lets one hide the other: whether the resource
//! could be carried out (`ConfigGenerated`, `SecretsResolved`, `DeploymentUpdated`), and how the
//! server in the cluster is (`Available`, `DeploymentReady`, `HealthCheck`, `StorageReady`,
//! `ServiceReady`). `Ready` needs both. The first row that fits decides:
//!
//! | what was found | `Ready` | beside it | phase |
//! |---|---|---|---|
//! | the resource is being deleted | False | | Terminating |
//! | it is refused or unreadable, or an object is somebody else's or refused | False | Stalled | Failed |
//! | the registry or the API server does not answer | False | Reconciling | as the rows below, but Initializing for Ready |
//! | it is planned and nothing was applied yet | Unknown | Reconciling | as the rows below, but Initializing for Ready |
//! | there is no Deployment | False | Reconciling | Pending |
//! | all wanted pods are new and available, no old one is left | True | | Ready |
//! | the rollout is stuck | False | Stalled | Failed without an available pod, else Initializing |
//! | a pod cannot run | False | Reconciling | Failed without an available pod, else Initializing |
//! | the rollout is under way | False | Reconciling | Initializing |
//!
//! What the server says of its health is told and decides nothing.

mod conditions;
mod distribution;
mod events;
mod hindrance;
mod last_words;
mod observed;
mod phase;
mod pod_trouble;
mod previous;
mod providers;
mod rollout;
mod transitions;
mod verdict;
mod versions;
mod wording;
mod words;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use llsd_api::v1alpha2::LlamaStackDistributionStatus;

use hindrance::Hindrance;
use previous::Previous;
use rollout::Rollout;
use verdict::Verdict;

pub use events::{Event, EventKind, EventReason};
pub use observed::*;
pub use pod_trouble::pod_trouble;
pub use words::{ConditionReason, ConditionType};

/// What is to be said of one pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Reported {
    pub status: LlamaStackDistributionStatus,
    pub events: Vec<Event>,
}

/// The status of a resource and what changed in it. With the status that it gave before and
/// nothing else new, it gives the same one and no events.
pub fn report(observed: &Observed<'_>) -> Reported {
    let previous = Previous::of(&observed.resource.status);
    let verdict = Verdict::of(observed);
    let rollout = Rollout::of(observed.live);
    let hindrance = Hindrance::of(&verdict, &rollout);
    let hindrance = hindrance.as_ref();
    let generation = observed.resource.generation;
    let now = &whole_second(observed.now);

    let said = conditions::all(observed, &verdict, &rollout, hindrance, &previous);
    let planned_url = verdict.plan().map(|plan| plan.url.clone());
    let url = planned_url.or_else(|| previous.service_url.clone());
    let status = LlamaStackDistributionStatus {
        observed_generation: generation,
        phase: Some(phase::phase(hindrance, &rollout)),
        version: Some(versions::version(observed, &previous, now)),
        distribution_config: Some(distribution::distribution_config(
            observed, &verdict, &rollout, &previous,
        )),
        resolved_distribution: distribution::resolved(observed, &verdict, &previous),
        config_generation: distribution::config_generation(&verdict, &previous, now),
        conditions: Some(transitions::conditions(said, &previous, generation, now)),
        available_replicas: Some(rollout.ready),
        service_url: url.filter(|_| observed.live.service),
        route_url: observed.live.outside_url.clone(),
    };
    let change = events::Change {
        observed,
        verdict: &verdict,
        rollout: &rollout,
        previous: &previous,
        status: &status,
    };
    let events = change.events();
    Reported { status, events }
}

/// Times are written in whole seconds, so a finer one would come back as another.
fn whole_second(now: Timestamp) -> Time {
    Time(Timestamp::from_second(now.as_second()).unwrap_or(now))
}
