//! The record of a shared change on the Deployment that is applied.

use serde_json::{Value, json};

use super::record::{Member, Wave};
use super::turn::Turn;
use crate::live::DeploymentDetail;
use crate::objects::{PlannedObject, labels};
use crate::resource::template_inputs::{Inputs, is_word};
use crate::rollout::kept;

/// Records on the Deployment that is applied which shared change has reached it. The record stays until the
/// next change; nothing is written only to remove it.
pub(in crate::rollout) fn note(
    planned: &mut PlannedObject,
    live: Option<&DeploymentDetail>,
    turn: &Turn,
    now: i64,
) {
    let annotations = &mut planned.json["metadata"]["annotations"];
    let record = match (turn, live) {
        (Turn::Taken(wave), _) => json!(wave.text()),
        (Turn::NotNeeded | Turn::Waiting(_), Some(live)) => carried_on(annotations, live, now),
        (Turn::NotNeeded | Turn::Waiting(_), None) => Value::Null,
    };
    if let Some(annotations) = annotations.as_object_mut() {
        kept::replace(annotations, labels::WAVE, &record);
    }
}

/// The record as it was, or what a change of the server's own makes of it.
fn carried_on(planned: &Value, live: &DeploymentDetail, now: i64) -> Value {
    let Some(record) = live.wave.as_deref() else { return Value::Null };
    let inputs = planned[labels::INPUTS].as_str().map(Inputs::parse).unwrap_or_default();
    let recorded = live.inputs.as_deref().map(Inputs::parse).unwrap_or_default();
    let mut changes = inputs.changes(&recorded).peekable();
    if changes.peek().is_none() {
        return json!(record);
    }
    let Some(Member { wave, .. }) = Member::from_deployment(live) else { return Value::Null };
    // To try the same again, with pods that do not start again, only says that others need not wait for it.
    let same_pods = live.template.as_deref() == planned[labels::TEMPLATE_HASH].as_str();
    let forgiven = !changes.all(is_word) || same_pods && live.rolled_back.is_none();
    let at = if same_pods { wave.at } else { now };
    json!(Wave { at, forgiven, ..wave }.text())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::DeploymentState;
    use crate::objects::ObjectKind;
    use crate::rollout::rollback::Return;

    fn wave() -> Wave {
        Wave { inputs: vec!["ca-bundle=11".to_owned()], ..Wave::default() }
    }

    fn live(available: i32, completed_at: Option<i64>) -> DeploymentDetail {
        let state = DeploymentState {
            wanted: 1,
            replicas: 1,
            updated: 1,
            available,
            ..DeploymentState::default()
        };
        DeploymentDetail {
            state,
            wave: Some(wave().text().into()),
            inputs: Some("ca-bundle=11 pods=1".into()),
            template: Some("1".into()),
            completed_at,
            ..DeploymentDetail::default()
        }
    }

    fn noted(live: &DeploymentDetail, inputs: &str, template: &str, turn: &Turn) -> Option<Wave> {
        let annotations = json!({labels::INPUTS: inputs, labels::TEMPLATE_HASH: template});
        let json = json!({"metadata": {"annotations": annotations}});
        let mut planned =
            PlannedObject { kind: ObjectKind::Deployment, name: "llama".into(), json };
        note(&mut planned, Some(live), turn, 0);
        planned.json["metadata"]["annotations"][labels::WAVE].as_str().map(Wave::parse)
    }

    #[test]
    fn the_record_stays_until_the_next_change() {
        let same = "ca-bundle=11 pods=1";
        for live in [live(0, None), live(1, Some(100))] {
            assert_eq!(noted(&live, same, "1", &Turn::NotNeeded), Some(wave()));
        }
        let taken = Wave { inputs: vec!["ca-bundle=22".into()], ..Wave::default() };
        let turn = Turn::Taken(taken.clone());
        assert_eq!(noted(&live(1, None), "ca-bundle=22 pods=1", "2", &turn), Some(taken));
        let own = |live: &DeploymentDetail| {
            noted(live, "ca-bundle=11 pods=2", "2", &Turn::NotNeeded).map(|wave| wave.forgiven)
        };
        assert_eq!(own(&live(1, Some(100))), None, "it runs with the shared change");
        assert_eq!(own(&live(0, None)), Some(true));
    }

    #[test]
    fn what_is_tried_again_counts_again_if_its_pods_start_again() {
        let with = |live: &DeploymentDetail, template: &str| {
            let inputs = "ca-bundle=11 pods=1 retry=22";
            let inputs_before = "ca-bundle=11 pods=1 retry=11";
            let live = DeploymentDetail { inputs: Some(inputs_before.into()), ..live.clone() };
            noted(&live, inputs, template, &Turn::NotNeeded).map(|wave| wave.forgiven)
        };
        let mut stuck = live(0, None);
        stuck.state.stuck = Some(("ProgressDeadlineExceeded".into(), "late".into()));
        assert_eq!(with(&stuck, "1"), Some(true));
        assert_eq!(with(&stuck, "2"), Some(false));
        let back = Return { to: "5d4f".into(), why: "late".into(), ..Return::default() };
        let back = DeploymentDetail { rolled_back: Some(back.text().into()), ..stuck };
        assert_eq!(with(&back, "1"), Some(false), "its template is another one than planned");
    }
}
