//! Replicas that stand for election against a real API server, and what can come between the two.

mod candidate;
mod link;

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::Api;
use llsd::operator::leadership::{ElectionSettings, LEASE_NAME};

pub use candidate::{Candidate, overlap};
pub use link::Link;

/// Shorter than in earnest, with the same proportions.
pub fn hasty(namespace: &str, identity: &str) -> ElectionSettings {
    ElectionSettings {
        identity: identity.to_owned(),
        lease_duration: Duration::from_secs(4),
        renew_deadline: Duration::from_millis(2600),
        retry_period: Duration::from_millis(500),
        ..ElectionSettings::new(namespace)
    }
}

/// The content of the Lease, if there is one.
pub async fn lease(client: &kube::Client, namespace: &str) -> Option<LeaseSpec> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), namespace);
    leases.get_opt(LEASE_NAME).await.unwrap().map(|lease| lease.spec.unwrap_or_default())
}

pub async fn holder(client: &kube::Client, namespace: &str) -> String {
    lease(client, namespace).await.and_then(|lease| lease.holder_identity).unwrap_or_default()
}
