//! How the operator runs, as its command line says.

use std::time::Duration;

use crate::operator::backoff::jittered;
use crate::operator::controller::state::queue::Next;
use crate::operator::controller::state::rights::Rights;
use crate::operator::controller::state::scope::Scope;

/// For how long it is believed where a tag points, unless resources are looked at more often.
const TAG_MEMORY: Duration = Duration::from_mins(5);

/// So old a copy of the start programs is at least before it is deleted, unless resources are looked at more often.
const LEAST_AGE: Duration = Duration::from_mins(5);

/// How the operator runs.
#[derive(Clone, Debug)]
pub struct Settings {
    pub scope: Scope,
    /// The operator acts, and not a person who asks what it would do.
    pub is_operator: bool,
    pub operator_namespace: String,
    /// The operator's own image, which the Redis sidecar runs.
    pub operator_image: Option<String>,
    pub operator_version: String,
    /// The name of this replica.
    pub instance: String,
    /// Resources that are worked on at the same time.
    pub concurrency: usize,
    /// The longest that one reconcile may take.
    pub time_limit: Duration,
    /// How often a resource at rest is looked at.
    pub resync: Duration,
    /// How often each Secret is read again.
    pub secret_refresh: Duration,
    /// Whether to watch the metadata of Secrets as well, which needs a role of its own.
    pub watch_secrets: bool,
    /// How often each running server is asked how it is.
    pub server_poll: Duration,
    /// How long a worker waits for a registry before it works on something else.
    pub registry_patience: Duration,
    /// Where servers are reached, for an operator outside of the cluster.
    pub server_url: Option<String>,
    /// How long a change waits for its preflight.
    pub preflight_deadline: Duration,
    /// Preflights that go on at the same time.
    pub preflight_jobs: usize,
    /// How long work under way may take to end.
    pub grace: Duration,
}

impl Settings {
    /// Whose rights requests have.
    pub fn rights(&self) -> Rights {
        if !self.is_operator {
            return Rights::OfCaller;
        }
        Rights::OfOperator {
            scope: self.scope.clone(),
            operator_namespace: self.operator_namespace.clone(),
        }
    }

    /// When a resource is looked at again about which nothing is to be done now.
    pub fn at_rest(&self) -> Next {
        Next::After(jittered(self.resync, 0.1))
    }

    /// For how long it is believed where a tag points.
    pub fn tag_memory(&self) -> Duration {
        TAG_MEMORY.min(self.resync)
    }

    /// How old a copy of the start programs is at least before it is deleted, in seconds.
    pub fn least_age(&self) -> i64 {
        i64::try_from(LEAST_AGE.min(self.resync).as_secs()).unwrap_or(i64::MAX)
    }
}
