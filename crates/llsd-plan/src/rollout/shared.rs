//! What the resources of a namespace share, and no resource owns: copies of the programs that start servers.
//! Which of them are missing or tampered with, and which are not needed any more.

use serde_json::Value;

use super::action::Action;
use crate::live::LiveObject;
use crate::objects::{ObjectKind, PlannedObject, start_program};

/// Whether the copy that resources are planned with is there as it would be applied.
pub fn is_in_place(shared: &[LiveObject]) -> bool {
    let mut copies = shared.iter().filter(|live| *live.name == *start_program::name());
    copies.any(|live| Action::for_shared(live) == Action::Leave)
}

/// The copies that no resource is planned with: those of other operators, and every one where the namespace
/// has no resource. They can go once no pod template mounts them. What is not intact is not ours.
pub fn unplanned(shared: &[LiveObject], has_resources: bool) -> Vec<&LiveObject> {
    let is_planned = |live: &LiveObject| has_resources && *live.name == *start_program::name();
    let copies = shared.iter().filter(|live| live.is_intact() && !live.deleting);
    copies.filter(|live| !is_planned(live)).collect()
}

/// The copies that the planned pods would mount, in a template that they keep or return to too, and that do
/// not hold what their names say: no pod may be started with them.
pub(super) fn tampered(planned: &[PlannedObject], running: &[LiveObject]) -> Vec<PlannedObject> {
    let deployment = planned.iter().find(|object| object.kind == ObjectKind::Deployment);
    let Some(deployment) = deployment else { return Vec::new() };
    let mounted: Vec<&str> = start_program::mounted(&deployment.json["spec"]["template"]).collect();
    let copies = running.iter().filter(|live| live.is_shared() && !live.is_intact());
    copies
        .filter(|live| mounted.contains(&&*live.name))
        .map(|live| PlannedObject {
            kind: live.kind,
            name: live.name.to_string(),
            json: Value::Null,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    /// The copy as it was applied, but for a change.
    fn live(change: impl Fn(&mut Value)) -> LiveObject {
        let data: Value = start_program::FILES.into_iter().collect();
        let mut copy = json!({
            "metadata": {"name": start_program::name(), "namespace": "here", "uid": "1"},
            "immutable": true, "data": data,
        });
        change(&mut copy);
        let live = LiveObject::parse(ObjectKind::ConfigMap, &copy).unwrap().1;
        LiveObject { answered: Some(start_program::fingerprint()), ..live }
    }

    #[test]
    fn a_copy_goes_once_no_resource_is_planned_with_it() {
        let ours = [live(|_| {})];
        assert!(is_in_place(&ours) && !is_in_place(&[]));
        assert!(unplanned(&ours, true).is_empty());
        assert_eq!(unplanned(&ours, false).len(), 1, "the last resource is gone");
    }

    #[test]
    fn what_is_not_intact_is_neither_run_nor_deleted() {
        let theirs = [live(|copy| copy["data"]["json.py"] = json!("theirs"))];
        assert!(!is_in_place(&theirs));
        assert!(unplanned(&theirs, false).is_empty());
        let time = json!("2026-01-01T00:00:00Z");
        let going = [live(|copy| copy["metadata"]["deletionTimestamp"] = time.clone())];
        assert!(!is_in_place(&going) && unplanned(&going, false).is_empty());
    }

    #[test]
    fn what_a_person_changed_of_its_labels_is_applied_again() {
        let copy = LiveObject { answered: None, ..live(|_| {}) };
        assert!(copy.is_intact() && !is_in_place(std::slice::from_ref(&copy)));
        assert_eq!(Action::for_shared(&copy), Action::Update(&copy));
    }

    #[test]
    fn no_pod_is_started_with_a_copy_that_was_tampered_with_in_a_kept_template_either() {
        let theirs = [live(|copy| copy["data"]["json.py"] = json!("theirs"))];
        let deployment = |mounted: &str| {
            let volumes = json!([{"name": "start", "configMap": {"name": mounted}}]);
            let json = json!({"spec": {"template": {"spec": {"volumes": volumes}}}});
            [PlannedObject { kind: ObjectKind::Deployment, name: "llama".to_owned(), json }]
        };
        let refused = tampered(&deployment(start_program::name()), &theirs);
        assert_eq!((refused.len(), &*refused[0].name), (1, start_program::name()));
        assert!(tampered(&deployment("start-program.other"), &theirs).is_empty());
        assert!(tampered(&deployment(start_program::name()), &[live(|_| {})]).is_empty());
    }
}
