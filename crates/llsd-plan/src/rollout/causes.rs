//! Which inputs of a pod template are others than those on its Deployment's record, in the words that people
//! are told: why pods are replaced, and what waits while a resource is paused.

use super::kept::{KeepCause, KeptTemplate};
use super::rollback::Return;
use crate::live::{DeploymentDetail, LiveObject};
use crate::objects::{ObjectKind, PlannedObject, labels};
use crate::resource::ROLLBACK_TO;
use crate::resource::template_inputs::{self, Inputs, told};

/// Why the template of a server that never ran changes, although no input did.
const UPGRADE: &str = "an upgrade of the operator";

/// The inputs that are planned and that the live Deployment was not made from.
pub fn changed_inputs(planned: &[PlannedObject], live: &[LiveObject]) -> Vec<String> {
    let planned = planned.iter().find(|object| object.kind == ObjectKind::Deployment);
    let live = live.iter().find_map(LiveObject::deployment);
    planned.zip(live).map(|(planned, live)| changes(planned, live)).unwrap_or_default()
}

/// Why the pod template of a live Deployment changes when `applied` is; nothing where it stays.
pub(super) fn of_template(
    applied: &PlannedObject,
    live: Option<&DeploymentDetail>,
    kept: Option<&KeptTemplate>,
) -> Vec<String> {
    let Some(live) = live else { return Vec::new() };
    let changed = changes(applied, live);
    let Some(kept) = kept else { return of_planned(applied, live, changed) };
    match &kept.cause {
        KeepCause::Adopted => Vec::new(),
        KeepCause::RolledBack(back)
            if live.rolled_back.as_deref().map(Return::parse).as_ref() != Some(back) =>
        {
            vec![of_return(back)]
        }
        // The record of a template that is kept changes only with values for which its pods are restarted.
        KeepCause::Upgrade
        | KeepCause::Preflight
        | KeepCause::WaitingForTurn
        | KeepCause::RolledBack(_) => changed,
    }
}

/// Of the planned template, where the inputs that changed are these.
fn of_planned(
    applied: &PlannedObject,
    live: &DeploymentDetail,
    changed: Vec<String>,
) -> Vec<String> {
    let annotations = &applied.json["metadata"]["annotations"];
    if live.template.as_deref() == annotations[labels::TEMPLATE_HASH].as_str() {
        return Vec::new();
    }
    let lacks_record = live.inputs.is_none() || live.adopted;
    let is_for_another = live.planned_for.as_deref() != annotations[labels::PLANNED_FOR].as_str();
    if changed.is_empty() && lacks_record && is_for_another {
        return told([template_inputs::SPEC]);
    }
    if changed.is_empty() && live.template.is_some() && live.never_ran() {
        return vec![UPGRADE.to_owned()];
    }
    changed
}

fn changes(planned: &PlannedObject, live: &DeploymentDetail) -> Vec<String> {
    let now = planned.json["metadata"]["annotations"][labels::INPUTS].as_str().map(Inputs::parse);
    let recorded = live.inputs.as_deref().map(Inputs::parse);
    let (now, recorded) = (now.unwrap_or_default(), recorded.unwrap_or_default());
    told(now.changes(&recorded))
}

fn of_return(back: &Return) -> String {
    if back.is_asked_for() {
        return ROLLBACK_TO.to_owned();
    }
    "a change that did not become available in time".to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;
    use crate::live::DeploymentState;

    fn applied(inputs: &str, template: &str) -> PlannedObject {
        let annotations = json!({
            labels::INPUTS: inputs, labels::TEMPLATE_HASH: template, labels::PLANNED_FOR: "2",
        });
        let json = json!({"metadata": {"name": "llama", "annotations": annotations}});
        PlannedObject { kind: ObjectKind::Deployment, name: "llama".to_owned(), json }
    }

    fn live(inputs: Option<&str>) -> DeploymentDetail {
        DeploymentDetail {
            inputs: inputs.map(Into::into),
            template: Some("old".into()),
            planned_for: Some("1".into()),
            ..DeploymentDetail::default()
        }
    }

    fn kept(cause: KeepCause) -> KeptTemplate {
        KeptTemplate { cause, waiting: Vec::new(), needs: BTreeSet::new() }
    }

    #[test]
    fn a_new_template_is_explained_by_the_parts_that_changed() {
        let before = live(Some("key=1 pods=a secret:keys/token=a spec=a"));
        let of = |inputs: &str, template: &str| {
            of_template(&applied(inputs, template), Some(&before), None)
        };
        let same = "key=1 pods=a secret:keys/token=a spec=a";
        assert_eq!(of("key=1 pods=b secret:keys/token=a spec=b", "new"), ["spec"]);
        assert_eq!(of("key=1 pods=a secret:keys/token=b spec=a", "new"), ["secret:keys/token"]);
        assert!(of("key=1 pods=b secret:keys/token=a spec=b", "old").is_empty(), "no pod goes");
        assert!(of(same, "new").is_empty());
        assert!(of_template(&applied(same, "new"), None, None).is_empty(), "it is created");
    }

    #[test]
    fn a_template_that_is_kept_is_explained_only_where_its_pods_restart() {
        let before = live(Some("pods=a secret:keys/token=a"));
        let of = |inputs: &str, cause: KeepCause| {
            of_template(&applied(inputs, "old"), Some(&before), Some(&kept(cause)))
        };
        let rotated = "pods=a secret:keys/token=b";
        assert!(of("pods=a secret:keys/token=a", KeepCause::Preflight).is_empty());
        assert_eq!(of(rotated, KeepCause::Preflight), ["secret:keys/token"]);
        assert!(of("pods=b", KeepCause::Adopted).is_empty());
    }

    #[test]
    fn another_template_of_a_server_that_never_ran_comes_from_an_upgrade() {
        let before = live(Some("pods=a"));
        let never_ran = DeploymentDetail {
            state: DeploymentState { wanted: 1, ..DeploymentState::default() },
            progress_of: Some("5d4f".into()),
            revision: 1,
            ..before.clone()
        };
        let of = |live: &DeploymentDetail, inputs: &str| {
            of_template(&applied(inputs, "new"), Some(live), None)
        };
        assert_eq!(of(&never_ran, "pods=a"), ["an upgrade of the operator"]);
        assert_eq!(of(&never_ran, "pods=b"), ["spec"]);
        assert!(of(&before, "pods=a").is_empty());
    }

    #[test]
    fn a_return_is_its_own_cause_once() {
        let asked = Return { to: "5d4f".to_owned(), ..Return::default() };
        let failed = Return { why: "timed out".to_owned(), ..asked.clone() };
        let before = live(Some("pods=a"));
        let of = |back: &Return, before: &DeploymentDetail| {
            let kept = kept(KeepCause::RolledBack(back.clone()));
            of_template(&applied("pods=a", "old"), Some(before), Some(&kept))
        };
        assert_eq!(of(&asked, &before), ["llamastack.io/rollback-to"]);
        assert_eq!(of(&failed, &before), ["a change that did not become available in time"]);
        let there = DeploymentDetail { rolled_back: Some(failed.text().into()), ..before };
        assert!(of(&failed, &there).is_empty());
    }

    #[test]
    fn where_nothing_is_on_record_a_change_of_the_resource_is_a_change_of_its_spec() {
        let of = |live: &DeploymentDetail| of_template(&applied("pods=a", "new"), Some(live), None);
        assert_eq!(of(&live(None)), ["spec"]);
        let same = DeploymentDetail { planned_for: Some("2".into()), ..live(None) };
        assert!(of(&same).is_empty());
        assert!(of(&live(Some("pods=a"))).is_empty());
    }
}
