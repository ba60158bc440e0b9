//! What the resources of a namespace share, and no resource owns: copies of the programs that start servers.
//! Which of them are missing or tampered with, which of those can be made, and which are not needed any more.

use std::collections::BTreeSet;

use serde_json::Value;

use super::action::Action;
use crate::live::LiveObject;
use crate::objects::{ObjectKind, PlannedObject, start_program};

/// Whether the copy that resources are planned with is there as it would be applied.
pub fn is_in_place(shared: &[LiveObject]) -> bool {
    let mut copies = shared.iter().filter(|live| *live.name == *start_program::name());
    copies.any(|live| Action::for_shared(live, start_program::fingerprint()) == Action::Leave)
}

/// Whether pods can be started with a copy of this name.
fn is_usable(shared: &[LiveObject], name: &str) -> bool {
    shared.iter().any(|live| *live.name == *name && live.is_intact() && !live.deleting)
}

/// Whether a copy of this name is there with another content.
pub(super) fn is_tampered(shared: &[LiveObject], name: &str) -> bool {
    let mut copies = shared.iter().filter(|live| live.is_shared() && *live.name == *name);
    copies.any(|live| !live.is_intact())
}

/// Whether a namespace lacks a copy: the one that resources are planned with, or one that its servers mount.
pub fn is_lacking<'a>(shared: &[LiveObject], mut mounted: impl Iterator<Item = &'a str>) -> bool {
    !is_in_place(shared) || mounted.any(|name| !is_usable(shared, name))
}

/// The copies that no resource is planned with: those of other operators, and every one where the namespace
/// has no resource. They can go once they are [settled](settles_in) and no pod template mounts them. What is not
/// intact is not ours, nor is what an operator never applied: it came with a set that a person rendered.
pub fn unplanned(shared: &[LiveObject], has_resources: bool) -> Vec<&LiveObject> {
    let is_ours = |live: &LiveObject| live.is_intact() && live.fingerprint.is_some();
    let copies = shared.iter().filter(|live| is_ours(live) && !live.deleting);
    copies.filter(|live| !is_planned(live, has_resources)).collect()
}

/// Whether the resources of its namespace, where it has any, are planned with a copy.
pub fn is_planned(copy: &LiveObject, has_resources: bool) -> bool {
    has_resources && *copy.name == *start_program::name()
}

/// In how many seconds a copy may be deleted, where that is not now. What mounts it is made after it, by whoever
/// made it: a young one says nothing by being mounted nowhere.
pub fn settles_in(copy: &LiveObject, least_age: i64, now: i64) -> Option<i64> {
    let rest = copy.created.saturating_add(least_age) - now;
    (rest > 0).then_some(rest)
}

/// Whether a copy has to be looked for: pods of a template mount it, and they cannot be started with what is known.
pub fn unusable<'a>(
    shared: &[LiveObject],
    mounted: impl IntoIterator<Item = &'a str>,
) -> BTreeSet<&'a str> {
    mounted.into_iter().filter(|name| !is_usable(shared, name)).collect()
}

/// A copy as it is made again. `data` is what one of that name holds.
pub fn remade(namespace: &str, name: &str, data: &Value) -> PlannedObject {
    let json = start_program::with_content(namespace, name, data);
    PlannedObject { json, ..unknown(name) }
}

/// What is known of copies that are not there as they should be.
#[derive(Clone, Debug, Default)]
pub struct Lacking {
    /// Those that can be made, as they are applied.
    pub known: Vec<PlannedObject>,
    /// Those that are missing, of an earlier operator whose programs this one has not seen.
    pub lost: BTreeSet<String>,
}

/// What is to be done about the copies that pods of a template mount.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// They do not hold what their names say: no pod may be started with them.
    pub tampered: Vec<PlannedObject>,
    /// They are missing, and are made before what mounts them.
    pub missing: Vec<PlannedObject>,
    /// They are missing, and cannot be made.
    pub lost: Vec<String>,
}

impl Copies {
    /// Of the planned Deployment, also where it keeps a template or returns to one. What is planned itself is not
    /// among the missing ones.
    pub(super) fn of_deployment(
        planned: &[PlannedObject],
        live: &[LiveObject],
        lacking: &Lacking,
    ) -> Self {
        let deployment = planned.iter().find(|object| object.kind == ObjectKind::Deployment);
        let Some(deployment) = deployment else { return Self::default() };
        let mounted = start_program::mounted(&deployment.json["spec"]["template"]);
        let mut copies = Self::default();
        for name in unusable(live, mounted) {
            let known = lacking.known.iter().find(|copy| copy.name == *name).cloned();
            if is_tampered(live, name) {
                copies.tampered.push(known.unwrap_or_else(|| unknown(name)));
            } else if planned.iter().any(|object| object.is_shared() && object.name == *name) {
                // It has its place among the planned objects.
            } else if let Some(known) = known {
                copies.missing.push(known);
            } else if lacking.lost.contains(name) {
                copies.lost.push(name.to_owned());
            }
        }
        copies
    }
}

/// A copy of which nothing but the name is known.
fn unknown(name: &str) -> PlannedObject {
    PlannedObject { kind: ObjectKind::ConfigMap, name: name.to_owned(), json: Value::Null }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rollout::WriteFailure;

    /// The copy as it was applied, but for a change.
    fn live(change: impl Fn(&mut Value)) -> LiveObject {
        let data: Value = start_program::FILES.into_iter().collect();
        let mut copy = json!({
            "metadata": {"name": start_program::name(), "namespace": "here", "uid": "1"},
            "immutable": true, "data": data,
        });
        change(&mut copy);
        let live = LiveObject::parse(ObjectKind::ConfigMap, &copy).unwrap().1;
        let applied = Some(start_program::fingerprint());
        LiveObject { fingerprint: applied, ..live }
    }

    #[test]
    fn a_copy_goes_once_no_resource_is_planned_with_it() {
        let ours = [live(|_| {})];
        assert!(is_in_place(&ours) && !is_in_place(&[]));
        assert!(unplanned(&ours, true).is_empty());
        assert_eq!(unplanned(&ours, false).len(), 1, "the last resource is gone");
    }

    #[test]
    fn a_namespace_lacks_what_a_server_of_it_mounts_and_is_not_there_as_it_should_be() {
        let ours = live(|_| {});
        let is_lacking =
            |shared: &[LiveObject], mounted: &str| is_lacking(shared, [mounted].into_iter());
        assert!(!is_lacking(std::slice::from_ref(&ours), start_program::name()));
        assert!(is_lacking(std::slice::from_ref(&ours), "start-program.earlier"));
        let other = LiveObject { name: "start-program.earlier".into(), ..ours.clone() };
        let mut both = [ours, other];
        assert!(!is_lacking(&both, "start-program.earlier"));
        both[1].deleting = true;
        assert!(is_lacking(&both, "start-program.earlier"));
    }

    #[test]
    fn what_came_with_a_rendered_set_is_not_the_operators_to_delete() {
        let rendered = [LiveObject { fingerprint: None, ..live(|_| {}) }];
        assert!(rendered[0].is_intact() && unplanned(&rendered, false).is_empty());
    }

    #[test]
    fn a_young_copy_stays_until_what_mounts_it_had_time_to_come() {
        let created = json!("1970-01-01T00:01:40Z");
        let young = live(|copy| copy["metadata"]["creationTimestamp"] = created.clone());
        assert_eq!(settles_in(&young, 300, 100), Some(300));
        assert_eq!(settles_in(&young, 300, 399), Some(1));
        assert_eq!(settles_in(&young, 300, 400), None);
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
        let other = crate::fingerprint::of_desired(&json!({"metadata": {"labels": {}}}));
        let copy = LiveObject { fingerprint: Some(other), ..live(|_| {}) };
        assert!(copy.is_intact() && !is_in_place(std::slice::from_ref(&copy)));
        assert_eq!(Action::for_shared(&copy, start_program::fingerprint()), Action::Update(&copy));
    }

    #[test]
    fn no_pod_is_started_with_a_copy_that_was_tampered_with_in_a_kept_template_either() {
        let theirs = [live(|copy| copy["data"]["json.py"] = json!("theirs"))];
        let refused = |mounted: &str, shared: &[LiveObject]| {
            Copies::of_deployment(&deployment(mounted), shared, &Lacking::default()).tampered
        };
        let found = refused(start_program::name(), &theirs);
        assert_eq!((found.len(), &*found[0].name), (1, start_program::name()));
        assert!(refused("start-program.other", &theirs).is_empty());
        assert!(refused(start_program::name(), &[live(|_| {})]).is_empty());
    }

    fn deployment(mounted: &str) -> [PlannedObject; 1] {
        let volumes = json!([{"name": "start", "configMap": {"name": mounted}}]);
        let json = json!({"spec": {"template": {"spec": {"volumes": volumes}}}});
        [PlannedObject { kind: ObjectKind::Deployment, name: "llama".to_owned(), json }]
    }

    /// A copy of an earlier operator.
    fn earlier() -> PlannedObject {
        let data = [("launch.py", "an earlier one")].into();
        let name = start_program::name_for(&data);
        remade("here", &name, &json!(data))
    }

    #[test]
    fn a_copy_of_an_earlier_operator_that_pods_mount_is_made_again_where_its_content_is_known() {
        let copy = earlier();
        let planned = deployment(&copy.name);
        let known = vec![copy.clone()];
        let lacking = Lacking { known, ..Lacking::default() };
        let copies = Copies::of_deployment(&planned, &[], &lacking);
        assert_eq!(copies.missing, std::slice::from_ref(&copy));
        let mut live = [LiveObject::parse(ObjectKind::ConfigMap, &copy.json).unwrap().1];
        let copies = Copies::of_deployment(&planned, &live, &lacking);
        assert!(copies.missing.is_empty() && copies.lost.is_empty(), "it is there");
        live[0].deleting = true;
        let copies = Copies::of_deployment(&planned, &live, &lacking);
        assert_eq!(copies.missing, [copy], "not for long");
    }

    #[test]
    fn what_cannot_be_made_again_is_named() {
        let copy = earlier();
        let lost = [copy.name.clone()].into();
        let lacking = Lacking { lost, ..Lacking::default() };
        let lost = |mounted: &str| Copies::of_deployment(&deployment(mounted), &[], &lacking).lost;
        assert_eq!(lost(&copy.name), [copy.name]);
        assert!(lost(start_program::name()).is_empty(), "the template has other programs by now");
    }

    #[test]
    fn a_refusal_says_of_each_copy_what_comes_of_deleting_it() {
        let said = |object: &PlannedObject| WriteFailure::not_ours(object).message;
        let mut current = unknown(start_program::name());
        assert!(said(&current).contains("creates its own"));
        current.name = earlier().name;
        assert!(said(&current).contains("llsd rollout approve"), "{}", said(&current));
        assert!(said(&earlier()).contains("creates it as it was"));
    }
}
