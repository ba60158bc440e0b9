//! Tells what was found and done: one patch of the status where it changed, and events for what is
//! new. What the status says is computed elsewhere, purely.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::Timestamp;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client};
use llsd_plan::fingerprint::FIELD_MANAGER;
use llsd_plan::objects::labels;
use llsd_plan::status::{self, Applying, Live, Observed, Planning, Server};
use serde_json::{Map, Value, json};

use super::Context;
use super::api;
use super::cache::{Child, Detail};
use super::key::Key;
use llsd_plan::objects::ObjectKind;

/// What one reconcile came to.
#[derive(Clone, Copy, Debug)]
pub struct Findings<'a> {
    pub planning: Planning<'a>,
    pub applying: Applying<'a>,
    pub live: &'a Live,
    pub server: &'a Server,
    pub newer_digest: Option<&'a str>,
}

/// Writes the status, if it changed.
pub async fn report(
    context: &Context,
    key: &Key,
    resource: &Value,
    findings: Findings<'_>,
) -> Result<(), kube::Error> {
    let operator = context.operator();
    let update = status::compute(&Observed {
        resource,
        now: Timestamp::now(),
        operator_version: &context.settings.operator_version,
        distributions: &operator.config.distributions(),
        planning: findings.planning,
        applying: findings.applying,
        live: findings.live,
        server: findings.server,
        newer_digest: findings.newer_digest,
    });
    let status = serde_json::to_value(&update.status).expect("a status has string keys only");
    let difference = difference(&resource["status"], &status);
    if difference.is_object() {
        // With the version, so that a status is never laid over one that nobody here has seen.
        let patch = json!({
            "metadata": {"resourceVersion": resource["metadata"]["resourceVersion"]},
            "status": difference,
        });
        context.cache.expect_status(key, &status);
        let api = api::distributions_in(&context.client, &key.namespace);
        let parameters =
            PatchParams { field_manager: Some(FIELD_MANAGER.into()), ..PatchParams::default() };
        match api.patch_status(&key.name, &parameters, &Patch::Merge(&patch)).await {
            Ok(answer) => {
                context.cache.put_resource(key, answer.json);
            }
            // The resource is gone, and with it whoever would read this.
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
            // The stored resource is one that the API server would not take today, in a place where
            // it insists on that even for a status. Then only events tell what is wrong.
            Err(kube::Error::Api(status)) if status.code == 422 => {
                tracing::warn!(resource = %key, why = status.message, "the status is refused");
            }
            Err(error) => return Err(error),
        }
    }
    context.events.publish(key, resource, update.events);
    Ok(())
}

/// The merge patch from one status to another; `null` where they are equal. Fields that are gone
/// are named, whoever had written them.
fn difference(from: &Value, to: &Value) -> Value {
    match (from, to) {
        (Value::Object(from), Value::Object(to)) => {
            let mut patch = Map::new();
            for (key, value) in to {
                match from.get(key) {
                    Some(old) if old == value => {}
                    Some(old) => drop(patch.insert(key.clone(), difference(old, value))),
                    None => drop(patch.insert(key.clone(), value.clone())),
                }
            }
            for key in from.keys().filter(|key| !to.contains_key(*key)) {
                patch.insert(key.clone(), Value::Null);
            }
            if patch.is_empty() { Value::Null } else { Value::Object(patch) }
        }
        _ => to.clone(),
    }
}

/// The owned objects as the status tells of them.
pub fn live(children: &[Child], key: &Key, exposed: bool) -> Live {
    let alive = || children.iter().filter(|child| !child.deleting);
    let mut outside = alive().filter_map(|child| match &child.detail {
        Detail::Outside(url) => url.as_deref(),
        _ => None,
    });
    let service = llsd_plan::objects::names::service(&key.name);
    Live {
        deployment: alive().find_map(Child::deployment).map(|detail| detail.state.clone()),
        service: alive().any(|child| child.is_named(ObjectKind::Service, &service)),
        claim: alive().find_map(|child| match &child.detail {
            Detail::Claim { phase, .. } => Some(phase.to_string()),
            _ => None,
        }),
        outside_url: exposed.then(|| outside.next().unwrap_or_default().to_owned()),
        pod_trouble: None,
    }
}

/// What keeps the newest pod that has trouble from running.
pub async fn pod_trouble(client: &Client, key: &Key) -> Result<Option<String>, kube::Error> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), &key.namespace);
    let selector: Vec<String> = labels::selector(&key.name)
        .into_iter()
        .map(|(label, value)| format!("{label}={value}"))
        .collect();
    let mut listed = pods.list(&ListParams::default().labels(&selector.join(","))).await?.items;
    listed.sort_by_key(|pod| {
        std::cmp::Reverse(pod.metadata.creation_timestamp.as_ref().map(|time| time.0))
    });
    Ok(listed.iter().find_map(status::pod_trouble))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_patch_holds_only_what_changed() {
        let from = json!({"phase": "Ready", "serviceURL": "u", "version": {"a": 1, "b": 2}});
        let to = json!({"phase": "Ready", "version": {"a": 1, "b": 3}, "availableReplicas": 1});
        assert_eq!(
            difference(&from, &to),
            json!({"version": {"b": 3}, "availableReplicas": 1, "serviceURL": null})
        );
        assert_eq!(difference(&to, &to), Value::Null);
        assert_eq!(difference(&Value::Null, &to), to);
    }
}
