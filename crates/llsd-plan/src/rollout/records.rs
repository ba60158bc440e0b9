//! What a Deployment records of its templates as it is applied: the last good one, how the pods that serve
//! listen, and whether a pod ever ran with the current one.

use serde_json::{Value, json};

use super::{kept, rollback};
use crate::live::{DeploymentDetail, seconds};
use crate::objects::{PlannedObject, labels};
use crate::server::listening::Listening;

/// The condition of a resource that says whether all wanted pods run and are new.
const DEPLOYMENT_READY: &str = "DeploymentReady";

/// Records which template was the last good one. Only where another one is about to take its place is that
/// looked at again: nothing is written at rest.
pub(super) fn note_last_good(
    planned: &mut PlannedObject,
    live: Option<&DeploymentDetail>,
    now: i64,
) {
    let Some(live) = live else { return };
    let annotations = &mut planned.json["metadata"]["annotations"];
    let is_the_same = live.template.as_deref() == annotations[labels::TEMPLATE_HASH].as_str();
    let known = live.last_good.as_deref();
    let good = if is_the_same { known } else { rollback::last_good(live, now) };
    let is_current = !is_the_same && good.is_some() && good == live.progress_of.as_deref();
    let inputs = if is_current { &live.inputs } else { &live.last_good_inputs };
    let inputs = kept::good_inputs(inputs.as_deref(), live.inputs.as_deref(), annotations);
    for (record, value) in
        [(labels::LAST_GOOD, good), (labels::LAST_GOOD_INPUTS, inputs.as_deref())]
    {
        if let (Some(value), Some(annotations)) = (value, annotations.as_object_mut()) {
            annotations.insert(record.to_owned(), value.into());
        }
    }
}

/// Records how the pods listen that serve or may come to, while those of the template that is applied listen
/// otherwise.
pub(super) fn note_who_serves(planned: &mut PlannedObject, live: Option<&DeploymentDetail>) {
    let Some(live) = live.filter(|live| live.state.replicas > 0) else { return };
    let serving = live.expected();
    if serving != Listening::of_template(&planned.json["spec"]["template"])
        && let Some(serving) = serving
    {
        planned.json["metadata"]["annotations"][labels::SERVES] = serving.text().into();
    }
}

/// Records that no pod ever ran with the template that is applied.
pub(super) fn note_unproven(
    planned: &mut PlannedObject,
    live: Option<&DeploymentDetail>,
    status: &Value,
    now: i64,
) {
    let wanted = planned.json["spec"]["replicas"].as_i64();
    let wanted = wanted.or(live.map(|live| live.state.wanted.into())).unwrap_or(1);
    let annotations = &mut planned.json["metadata"]["annotations"];
    let hash = annotations[labels::TEMPLATE_HASH].as_str();
    let stays = live.filter(|live| live.template.as_deref() == hash);
    let unproven = match stays {
        // Kubernetes calls a rollout complete once no pod is wanted, whatever became of its pods.
        Some(live) => {
            let never_complete = wanted == 0 && !was_complete(live, status);
            (live.unproven || never_complete) && !rollback::is_proven(live, now)
        }
        // Kubernetes may not have seen the change before: if it has this template again, its rollout counts as
        // complete, although it may have been so only while no pod was wanted.
        None => wanted == 0 || live.is_some_and(|live| !live.state.is_observed()),
    };
    let value = if unproven { json!("true") } else { Value::Null };
    if let Some(annotations) = annotations.as_object_mut() {
        kept::replace(annotations, labels::UNPROVEN, &value);
    }
}

/// Whether the rollout of the template that a Deployment has was complete while pods were wanted. Where somebody
/// else took the pods away, the status that the resource had before tells: of a rollout that was complete only
/// after the server was last ready, nothing is known but that.
fn was_complete(live: &DeploymentDetail, status: &Value) -> bool {
    let Some(completed_at) = live.completed_at else { return false };
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    let unready = conditions.find(|it| it["type"] == DEPLOYMENT_READY && it["status"] == "False");
    let since = unready.and_then(|unready| seconds(&unready["lastTransitionTime"]));
    since.is_none_or(|since| completed_at < since)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::DeploymentState;
    use crate::objects::ObjectKind;

    /// Whether a template counts as unproven once an autoscaler has taken all pods away.
    fn is_unproven(completed_at: i64, ready: &str, since: &str) -> bool {
        let json = json!({
            "metadata": {"annotations": {labels::TEMPLATE_HASH: "now"}}, "spec": {"template": {}},
        });
        let mut planned =
            PlannedObject { kind: ObjectKind::Deployment, name: "llama".into(), json };
        let live = DeploymentDetail {
            template: Some("now".into()),
            completed_at: Some(completed_at),
            state: DeploymentState { wanted: 0, ..DeploymentState::default() },
            ..DeploymentDetail::default()
        };
        let condition = json!({
            "type": "DeploymentReady", "status": ready, "reason": "R", "message": "",
            "lastTransitionTime": since,
        });
        note_unproven(&mut planned, Some(&live), &json!({"conditions": [condition]}), 1000);
        planned.json["metadata"]["annotations"][labels::UNPROVEN].is_string()
    }

    #[test]
    fn what_an_autoscaler_took_away_before_it_was_ready_is_unproven() {
        let (early, late) = ("1970-01-01T00:01:40Z", "1970-01-01T00:15:00Z");
        assert!(is_unproven(900, "False", early), "it was complete only without pods");
        assert!(!is_unproven(50, "False", early), "it was complete, and then in trouble");
        assert!(!is_unproven(50, "True", late));
        assert!(!is_unproven(900, "True", early));
    }
}
