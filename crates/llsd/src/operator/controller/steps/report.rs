//! Reports what was found and done: one patch of the status where it changed, and events for what is
//! new. What the status says is computed elsewhere, purely.

use kube::api::{Patch, PatchParams};
use llsd_plan::fingerprint::FIELD_MANAGER;
use llsd_plan::resource::Resource;
use llsd_plan::status::{self, Limitation, Pass, StatusInputs, TagNow};
use serde_json::{Map, Value, json};

use crate::operator::controller::context::Context;
use crate::operator::controller::requests::api;
use crate::operator::controller::steps::observe::Observation;
use crate::operator::telemetry::count_changes;
use crate::operator::telemetry::traces::TARGET;

/// Writes the status, if it changed.
#[tracing::instrument(target = TARGET, level = "trace", skip_all)]
pub async fn report(
    context: &Context,
    resource: &Resource,
    pass: Pass<'_>,
    now: &Observation,
    tag: &TagNow,
    limitations: &[Limitation],
) -> Result<(), kube::Error> {
    let key = &resource.key;
    let update = status::compute(&StatusInputs {
        resource,
        now: context.clock.now(),
        operator_version: &context.settings.operator_version,
        distributions: &context.configuration.get().config.distributions(),
        pass,
        live: &now.live,
        server: &now.server,
        tag,
        limitations,
    });
    let status = serde_json::to_value(&update.status).expect("a status has string keys only");
    let difference = difference(&resource.status, &status);
    if difference.is_object() {
        // With the version, so that a status is never laid over one that nobody here has seen.
        let patch = json!({
            "metadata": {"resourceVersion": resource.version},
            "status": difference,
        });
        context.cache.expect_status(key, &status);
        let api = api::distributions_in(&context.client, &key.namespace);
        let parameters =
            PatchParams { field_manager: Some(FIELD_MANAGER.into()), ..PatchParams::default() };
        match api.patch_status(&key.name, &parameters, &Patch::Merge(&patch)).await {
            Ok(answer) => {
                count_changes(&context.metrics, &resource.status, &status);
                context.cache.put_resource(key, answer.json);
            }
            // The resource is gone, and with it whoever would read this.
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
            // The stored resource is one that the API server would not take today, in a place where
            // it insists on that even for a status. Then only events say what is wrong.
            Err(kube::Error::Api(status)) if status.code == 422 => {
                tracing::warn!(resource = %key, why = status.message, "the status is refused");
            }
            Err(error) => return Err(error),
        }
    }
    context.events.publish(resource, update.events);
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
