//! The resource's status and the events of one reconcile, computed from what was observed.
//!
//! A status covers two things at once, and never lets one hide the other: whether the resource
//! could be carried out (`ConfigGenerated`, `SecretsResolved`, `DeploymentUpdated`), and how the
//! server in the cluster is (`Available`, `DeploymentReady`, `HealthCheck`, `StorageReady`,
//! `ServiceReady`). `Ready` needs both. The first row that fits decides:
//!
//! | what was found | `Ready` | beside it | phase |
//! |---|---|---|---|
//! | the resource is being deleted | False | | Terminating |
//! | another installation of the operator has taken it over | as that one says | | |
//! | it is paused, and a change of its spec waits for that | False | Stalled | as the rows below, but Initializing for Ready |
//! | it is refused or unreadable, or an object is somebody else's or refused | False | Stalled | Failed |
//! | the operator lacks a right to plan, write or delete, or the cluster does not serve a kind | False | Stalled | Failed |
//! | the registry or the API server does not answer | False | Reconciling | as the rows below, but Initializing for Ready |
//! | it is planned and nothing was applied yet | Unknown | Reconciling | as the rows below, but Initializing for Ready |
//! | there is no Deployment | False | Reconciling | Pending |
//! | the pods run as before a change that its image checks now | False | Reconciling | Initializing |
//! | the pods run as before a change that its image refused | False | Stalled | Initializing |
//! | the pods run, and a router or gateway does not serve the object that exposes them | False | Stalled | Initializing |
//! | the pods run as before a change that did not become available | False | Stalled | Initializing |
//! | all wanted pods are new and available, no old one is left | True | | Ready |
//! | the pods wait for a model | False | Reconciling; Stalled once the rollout is stuck | Initializing |
//! | the rollout is stuck | False | Stalled | Failed without an available pod, else Initializing |
//! | a pod cannot run | False | Reconciling | Failed without an available pod, else Initializing |
//! | the rollout is under way | False | Reconciling | Initializing |
//!
//! What the server reports of its health is listed and decides nothing.

mod conditions;
mod distribution;
mod events;
mod exit_reason;
mod external_providers;
mod messages;
mod models_awaited;
mod observed;
mod obstacle;
mod pod_trouble;
mod previous;
mod providers;
mod remedy;
mod rollout;
mod shared_changes;
mod situation;
mod stage;
mod vocabulary;

use llsd_api::v1alpha2::LlamaStackDistributionStatus;
use serde::Deserialize;

use crate::objects::labels;
use situation::Situation;
use stage::Stage;

pub use events::{Event, EventKind, EventReason};
pub use models_awaited::models_awaited;
pub use observed::*;
pub use pod_trouble::{failure_cause, overdue_trouble, pod_trouble};
pub use shared_changes::course_event;
pub use vocabulary::{ConditionReason, ConditionType};

/// What one pass changes in the status, and the events that tell of it.
#[derive(Clone, Debug, PartialEq)]
pub struct StatusUpdate {
    pub status: LlamaStackDistributionStatus,
    pub events: Vec<Event>,
}

/// The status of a resource and what changed in it. With the status that it gave before and
/// nothing else new, it gives the same one and no events.
pub fn compute(observed: &StatusInputs<'_>) -> StatusUpdate {
    let situation = &Situation::new(observed);
    let Situation { stage, rollout, obstacle, previous, now, .. } = situation;
    let observed_generation = observed.resource.generation;
    let phase = Some(obstacle::phase(obstacle.as_ref(), rollout));
    let conditions = Some(conditions::dated(conditions::all(situation), situation));
    let planned_url = stage.plan().map(|plan| plan.url.clone());
    let url = planned_url.or_else(|| previous.service_url.clone());
    let before = || {
        let before = LlamaStackDistributionStatus::deserialize(&observed.resource.status);
        before.unwrap_or_default()
    };
    let status = match stage {
        // The rest of it is the other installation's.
        Stage::Contended(_) => LlamaStackDistributionStatus { conditions, ..before() },
        // Nothing could be looked at: what was known stands.
        Stage::Hindered(_) => {
            LlamaStackDistributionStatus { observed_generation, phase, conditions, ..before() }
        }
        _ => LlamaStackDistributionStatus {
            observed_generation,
            phase,
            version: Some(distribution::version(observed, previous, now)),
            distribution_config: Some(distribution::distribution_config(situation)),
            resolved_distribution: distribution::resolved(situation),
            config_generation: distribution::config_generation(stage, previous, now),
            preflight: conditions::preflight_record(stage, previous),
            external_providers: external_providers::external_providers(situation),
            conditions,
            replicas: Some(rollout.replicas),
            selector: Some(labels::selector_text(&observed.resource.key.name)),
            available_replicas: Some(rollout.ready),
            service_url: url.filter(|_| observed.live.service),
            route_url: observed.live.outside_url.clone(),
        },
    };
    let events = events::Change { situation, status: &status }.events();
    StatusUpdate { status, events }
}
