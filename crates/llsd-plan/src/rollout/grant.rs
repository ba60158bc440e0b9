//! Certificate authorities of another namespace: who may begin to use them is for the operator's
//! configuration to say; whoever runs with them already goes on.

use super::retention;
use crate::live::{Detail, LiveObject};
use crate::objects::ca_bundle;
use crate::resource::Resource;

/// The other namespace whose ConfigMap the resource's `caBundle` names.
pub fn ca_bundle_elsewhere(resource: &Resource) -> Option<&str> {
    let bundle = ca_bundle::explicit(resource.spec.as_ref()?)?;
    ca_bundle::elsewhere(bundle, &resource.key.namespace)
}

/// The grant that the server's own ConfigMap of authorities carries. Anybody can write one there, so
/// it counts only where it is the one that the operator would give.
pub fn granted<'a>(resource: &Resource, live: &'a [LiveObject]) -> Option<&'a str> {
    match &bundle(resource, live)?.detail {
        Detail::Config { ca_bundle_grant, .. } => ca_bundle_grant.as_deref(),
        _ => None,
    }
}

/// Whether the server runs with certificate authorities of that namespace already: it was given this
/// grant, or an operator that gave none has carried out the resource as it is.
pub fn runs_with_bundle(resource: &Resource, live: &[LiveObject], grant: &str) -> bool {
    granted(resource, live) == Some(grant)
        || bundle(resource, live).is_some() && resource.was_carried_out()
}

/// The one that was made last: those of before are there for whoever goes back.
fn bundle<'a>(resource: &Resource, live: &'a [LiveObject]) -> Option<&'a LiveObject> {
    let bundles = live.iter().filter(|live| retention::is_ca_bundle(live, resource));
    bundles.max_by_key(|live| live.created)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::objects::ObjectKind;

    fn resource(status: &Value) -> Resource {
        Resource::parse(&json!({
            "apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution",
            "metadata": {"name": "llama", "namespace": "team", "uid": "1", "generation": 3},
            "spec": {
                "distribution": {"name": "starter"},
                "networking": {"tls": {"caBundle": {
                    "configMapName": "roots", "configMapNamespace": "trust",
                }}},
            },
            "status": status,
        }))
    }

    fn bundle_with(grant: &str) -> Vec<LiveObject> {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": "llama-ca-bundle", "namespace": "team",
                "annotations": {"llamastack.io/ca-bundle-grant": grant},
            },
        });
        vec![LiveObject::parse(ObjectKind::ConfigMap, &object).unwrap().1]
    }

    #[test]
    fn only_the_operators_own_grant_counts() {
        let new = resource(&Value::Null);
        assert_eq!(ca_bundle_elsewhere(&new), Some("trust"));
        assert!(runs_with_bundle(&new, &bundle_with("made"), "made"));
        assert!(!runs_with_bundle(&new, &bundle_with("forged"), "made"));
        assert!(!runs_with_bundle(&new, &[], "made"));
    }

    #[test]
    fn what_ran_before_there_were_grants_goes_on_as_long_as_the_status_is_about_it() {
        let updated = |status: &str, reason: &str, generation: i64| {
            resource(&json!({
                "observedGeneration": generation, "phase": "Ready",
                "conditions": [{
                    "type": "DeploymentUpdated", "status": status, "reason": reason,
                    "observedGeneration": generation,
                }],
            }))
        };
        let live = bundle_with("");
        assert!(runs_with_bundle(&updated("True", "DeploymentUpdated", 3), &live, "made"));
        assert!(runs_with_bundle(&updated("False", "AdoptedTemplateKept", 3), &live, "made"));
        assert!(!runs_with_bundle(&updated("True", "DeploymentUpdated", 2), &live, "made"));
        assert!(!runs_with_bundle(&updated("False", "PlanningFailed", 3), &live, "made"));
        let of_v0_9 = resource(&json!({"phase": "Ready", "conditions": []}));
        assert!(runs_with_bundle(&of_v0_9, &live, "made"));
        assert!(!runs_with_bundle(&of_v0_9, &[], "made"), "it has no bundle");
        assert!(!runs_with_bundle(&resource(&json!({"phase": "Failed"})), &live, "made"));
    }
}
