//! What runs for a resource. An input that fails must change nothing of it.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::namespace::Namespace;

/// The Deployment's template and the pods that are there for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Running {
    pub uid: Value,
    pub generation: Value,
    pub template: Value,
    /// The uids of the pods.
    pub pods: BTreeSet<String>,
}

impl Running {
    /// Whether no pod was restarted since `before`. For a resource that was changed and changed
    /// back, the Deployment has another annotation, and so another generation.
    pub fn is_the_server_of(&self, before: &Self) -> bool {
        (&self.uid, &self.template, &self.pods) == (&before.uid, &before.template, &before.pods)
    }
}

impl Namespace<'_> {
    /// What runs for a resource now.
    pub async fn running(&self, resource: &str) -> Running {
        let deployment = self.get("Deployment", resource).await.expect("a Deployment");
        let pods = self.list("Pod").await;
        let pods = pods.iter().filter(|pod| {
            pod["metadata"]["labels"]["app.kubernetes.io/instance"] == resource
                && pod["metadata"]["deletionTimestamp"].is_null()
        });
        Running {
            uid: deployment["metadata"]["uid"].clone(),
            generation: deployment["metadata"]["generation"].clone(),
            template: deployment["spec"]["template"].clone(),
            pods: pods.map(|pod| pod["metadata"]["uid"].to_string()).collect(),
        }
    }
}
