//! Secrets with connection strings are named by their content, and they cannot be listed. So a Deployment
//! keeps a record of those that its pods were made with, and none is left behind.

use serde_json::Value;

use super::kept;
use crate::live::DeploymentDetail;
use crate::objects::{ObjectKind, PlannedObject, labels};

/// Puts the record on a Deployment as it is applied: what was recorded and is not gone, and what its own
/// template names.
pub(super) fn record(
    planned: &mut PlannedObject,
    resource: &str,
    live: Option<&DeploymentDetail>,
    gone: &[String],
) {
    let mut names = live.map(recorded).unwrap_or_default();
    names.retain(|name| !gone.contains(name));
    names.extend(in_use(resource, &planned.json));
    names.sort();
    names.dedup();
    if !names.is_empty() {
        planned.json["metadata"]["annotations"][labels::STORAGE_SECRETS] = names.join(" ").into();
    }
}

/// The Secret that the template of a resource's Deployment names.
pub fn in_use(resource: &str, deployment: &Value) -> Option<String> {
    let is_ours = |name: &str| ObjectKind::Secret.resource_named(name) == Some(resource);
    let mut needs = kept::needs(deployment).into_iter();
    needs.find(|(kind, name)| *kind == ObjectKind::Secret && is_ours(name)).map(|(_, name)| name)
}

/// The Secrets on record.
pub fn recorded(deployment: &DeploymentDetail) -> Vec<String> {
    let record = deployment.storage_secrets.as_deref().unwrap_or_default();
    record.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deployment(secret: &str) -> PlannedObject {
        let from = json!({"secretKeyRef": {"name": secret, "key": "host"}});
        let container = json!({"name": "llama-stack", "env": [{"name": "A", "valueFrom": from}]});
        PlannedObject {
            kind: ObjectKind::Deployment,
            name: "llama".to_owned(),
            json: json!({
                "metadata": {"annotations": {}},
                "spec": {"template": {"spec": {"containers": [container]}}},
            }),
        }
    }

    fn detail(record: &str) -> DeploymentDetail {
        DeploymentDetail { storage_secrets: Some(record.into()), ..DeploymentDetail::default() }
    }

    #[test]
    fn a_record_has_what_is_there_and_what_is_named() {
        let mut planned = deployment("llama-storage-c");
        let live = detail("llama-storage-a llama-storage-b");
        record(&mut planned, "llama", Some(&live), &["llama-storage-a".to_owned()]);
        let written = &planned.json["metadata"]["annotations"][labels::STORAGE_SECRETS];
        assert_eq!(written, "llama-storage-b llama-storage-c");
    }

    #[test]
    fn a_users_own_secret_is_on_no_record() {
        let mut planned = deployment("vllm-creds");
        record(&mut planned, "llama", None, &[]);
        assert_eq!(planned.json["metadata"]["annotations"], json!({}));
    }
}
