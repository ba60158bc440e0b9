//! What a Deployment records of its templates as it is applied: the last good one, how the pods that serve
//! listen, and whether a pod ever ran with the current one.

use serde_json::{Value, json};

use super::{kept, rollback};
use crate::live::DeploymentDetail;
use crate::objects::{PlannedObject, labels};
use crate::server::listening::Listening;

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
            let never_complete = wanted == 0 && live.completed_at.is_none();
            (live.unproven || never_complete) && !rollback::is_proven(live, now)
        }
        None => wanted == 0,
    };
    let value = if unproven { json!("true") } else { Value::Null };
    if let Some(annotations) = annotations.as_object_mut() {
        kept::replace(annotations, labels::UNPROVEN, &value);
    }
}
