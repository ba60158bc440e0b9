//! The record of a shared change on the Deployment that is applied.

use serde_json::{Value, json};

use super::record::{Member, Wave};
use super::turn::Turn;
use crate::live::DeploymentDetail;
use crate::objects::{PlannedObject, labels};
use crate::resource::template_inputs::{Inputs, is_word};
use crate::rollout::kept;
use crate::rollout::rollback::Return;

/// Records on the Deployment that is applied which shared change has reached it, and that it failed. The record
/// stays until the next change; nothing is written only to remove it.
pub(in crate::rollout) fn note(
    planned: &mut PlannedObject,
    live: Option<&DeploymentDetail>,
    turn: &Turn,
    now: i64,
) {
    let annotations = &mut planned.json["metadata"]["annotations"];
    let record = live.and_then(|live| match turn {
        // Where the template stays after all, as its pods do not read what changed, nothing begins.
        Turn::Joined(wave) | Turn::Taken(wave) if is_changed(annotations, live) => {
            Some(begun(wave, annotations, live, now))
        }
        Turn::NotNeeded | Turn::Waiting(_) | Turn::Joined(_) | Turn::Taken(_) => {
            carried_on(annotations, live, now)
        }
    });
    if let Some(annotations) = annotations.as_object_mut() {
        kept::replace(annotations, labels::WAVE, &json!(record));
    }
}

/// What is recorded of a change that reaches a server now, with the template that is applied.
fn begun(wave: &Wave, planned: &Value, live: &DeploymentDetail, now: i64) -> String {
    let inputs = wave.inputs.clone();
    let template = planned[labels::TEMPLATE_HASH].as_str().map(str::to_owned);
    let revision = Some(live.revision).filter(|known| *known > 0 && live.state.is_observed());
    Wave { inputs, at: now, template, revision, failed: false, canary: wave.canary }.text()
}

/// The record as it was, or what a failure or a change of the server's own makes of it.
fn carried_on(planned: &Value, live: &DeploymentDetail, now: i64) -> Option<String> {
    let record = live.wave.as_deref()?;
    let member = Member::from_deployment(live, now);
    let back = return_now(planned, live);
    if back.as_ref().is_some_and(Return::is_asked_for) {
        return None;
    }
    if !is_changed(planned, live) {
        let failed = member.filter(|member| member.has_failed() || back.is_some());
        let failed = failed.filter(|member| !member.wave.failed);
        let latched = failed.map(|member| Wave { failed: true, ..member.wave }.text());
        return Some(latched.unwrap_or_else(|| record.to_owned()));
    }
    // To try the same again, with pods that do not start again, only says that others need not wait for it.
    let same_pods = live.template.as_deref() == planned[labels::TEMPLATE_HASH].as_str();
    let starts_again = !same_pods || live.rolled_back.is_some();
    let is_tried_again = asks_again(planned, live) && starts_again;
    member.filter(|_| is_tried_again).map(|member| begun(&member.wave, planned, live, now))
}

/// The return to a state of before that the server makes now.
fn return_now(planned: &Value, live: &DeploymentDetail) -> Option<Return> {
    let back = planned[labels::ROLLED_BACK].as_str();
    back.filter(|_| back != live.rolled_back.as_deref()).map(Return::parse)
}

fn is_changed(planned: &Value, live: &DeploymentDetail) -> bool {
    let (now, recorded) = inputs(planned, live);
    now.differ_from(&recorded)
}

/// Whether nothing changes but that the resource asks to carry out what there is.
fn asks_again(planned: &Value, live: &DeploymentDetail) -> bool {
    let (now, recorded) = inputs(planned, live);
    now.changes(&recorded).all(is_word)
}

fn inputs(planned: &Value, live: &DeploymentDetail) -> (Inputs, Inputs) {
    let now = planned[labels::INPUTS].as_str().map(Inputs::parse);
    let recorded = live.inputs.as_deref().map(Inputs::parse);
    (now.unwrap_or_default(), recorded.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::DeploymentState;
    use crate::objects::ObjectKind;

    const INPUTS: &str = "ca-bundle=11 pods=1";

    fn wave() -> Wave {
        let inputs = vec!["ca-bundle=11".to_owned()];
        Wave { inputs, template: Some("1".into()), ..Wave::default() }
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
            inputs: Some(INPUTS.into()),
            template: Some("1".into()),
            completed_at,
            revision: 4,
            ..DeploymentDetail::default()
        }
    }

    fn stuck(available: i32) -> DeploymentDetail {
        let mut stuck = live(available, None);
        stuck.state.stuck = Some(("ProgressDeadlineExceeded".into(), "late".into()));
        stuck
    }

    fn noted_on(live: &DeploymentDetail, annotations: &Value, turn: &Turn) -> Option<Wave> {
        let json = json!({"metadata": {"annotations": annotations}});
        let mut planned =
            PlannedObject { kind: ObjectKind::Deployment, name: "llama".into(), json };
        note(&mut planned, Some(live), turn, 500);
        planned.json["metadata"]["annotations"][labels::WAVE].as_str().map(Wave::parse)
    }

    fn noted(live: &DeploymentDetail, inputs: &str, template: &str, turn: &Turn) -> Option<Wave> {
        let annotations = json!({labels::INPUTS: inputs, labels::TEMPLATE_HASH: template});
        noted_on(live, &annotations, turn)
    }

    #[test]
    fn the_record_stays_until_the_next_change() {
        for live in [live(0, None), live(1, Some(100))] {
            assert_eq!(noted(&live, INPUTS, "1", &Turn::NotNeeded), Some(wave()));
        }
        let taken = Wave { inputs: vec!["ca-bundle=22".into()], ..Wave::default() };
        let turn = Turn::Taken(taken.clone());
        let begun = Wave { at: 500, template: Some("2".into()), revision: Some(4), ..taken };
        let change = "ca-bundle=22 pods=1";
        assert_eq!(noted(&live(1, None), change, "2", &turn), Some(begun.clone()));
        let mut written = live(1, None);
        written.state.generation = 2;
        let unknown = Some(Wave { revision: None, ..begun });
        assert_eq!(noted(&written, change, "2", &turn), unknown, "the revision is of before");
        assert_eq!(noted(&live(1, None), INPUTS, "1", &turn), Some(wave()), "no pod is replaced");
        for live in [live(1, Some(100)), live(0, None), stuck(0)] {
            let own = noted(&live, "ca-bundle=11 pods=2", "2", &Turn::NotNeeded);
            assert_eq!(own, None, "what becomes of it is of its user's making");
        }
    }

    #[test]
    fn a_failure_is_recorded_once_and_a_return_with_it() {
        let failed = Some(Wave { failed: true, ..wave() });
        assert_eq!(noted(&stuck(1), INPUTS, "1", &Turn::NotNeeded), failed);
        let known = DeploymentDetail {
            wave: failed.as_ref().map(|it| it.text().into()),
            ..live(1, Some(100))
        };
        assert_eq!(noted(&known, INPUTS, "1", &Turn::NotNeeded), failed, "it serves again");
        let back = |why: &str| {
            let back = Return { to: "5d4f".into(), why: why.into(), ..Return::default() }.text();
            let annotations = json!({labels::INPUTS: INPUTS, labels::ROLLED_BACK: back});
            noted_on(&live(0, None), &annotations, &Turn::NotNeeded)
        };
        assert_eq!(back("late"), failed);
        assert_eq!(back(""), None, "its user asked for that");
    }

    #[test]
    fn what_is_tried_again_counts_again_if_its_pods_start_again() {
        let with = |live: &DeploymentDetail, template: &str| {
            let inputs_before = "ca-bundle=11 pods=1 retry=11";
            let live = DeploymentDetail { inputs: Some(inputs_before.into()), ..live.clone() };
            noted(&live, "ca-bundle=11 pods=1 retry=22", template, &Turn::NotNeeded)
        };
        assert_eq!(with(&stuck(0), "1"), None);
        let again = Wave { at: 500, template: Some("2".into()), revision: Some(4), ..wave() };
        assert_eq!(with(&stuck(0), "2"), Some(again.clone()));
        let back = Return { to: "5d4f".into(), why: "late".into(), ..Return::default() };
        let failed = Wave { failed: true, ..wave() };
        let back = DeploymentDetail {
            rolled_back: Some(back.text().into()),
            wave: Some(failed.text().into()),
            template: None,
            ..live(1, Some(100))
        };
        assert_eq!(with(&back, "2"), Some(again), "its template is another one than planned");
    }
}
