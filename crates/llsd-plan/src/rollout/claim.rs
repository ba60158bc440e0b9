//! A volume claim can grow and never shrink, and only where its storage class allows it; its class and
//! its access modes cannot change at all. None of that is a reason to leave a server without the rest
//! of what was asked for.

use llsd_api::v1alpha2::DeletionPolicy;
use serde_json::{Value, json};

use super::refusal::{Refused, WriteFailure};
use crate::live::{ClaimDetail, LiveObject};
use crate::problems::{FieldPath, Problem, Reason};
use crate::resource::Resource;
use crate::values::quantity::nanos;

/// The claim as it can be applied: where it would shrink, with the size that it has.
pub(super) fn without_shrinking(
    desired: Value,
    live: Option<&LiveObject>,
) -> (Value, Option<Problem>) {
    let Some((asked, has)) = sizes(&desired, live) else { return (desired, None) };
    let both = nanos(&asked).zip(nanos(has));
    if both.is_none_or(|(asked, has)| asked >= has) {
        return (desired, None);
    }
    let problem = Problem {
        path: path(),
        reason: Reason::Ignored,
        message: format!("a volume cannot shrink: it has {has}, and {asked} is asked for"),
        remedy: format!("set it to {has} or more"),
    };
    (with_its_size(desired, live), Some(problem))
}

/// The claim with the class and the access modes that the live one has, which the API server would
/// refuse to change; with a remark on each that the resource asks for in vain.
pub(super) fn with_its_kind(
    resource: &Resource,
    mut desired: Value,
    live: Option<&LiveObject>,
) -> (Value, Vec<Problem>) {
    let mut remarks = Vec::new();
    let Some(live) = live.and_then(LiveObject::claim) else { return (desired, remarks) };
    let ClaimDetail { class, class_is_applied, access_modes, .. } = live;
    let spec = &mut desired["spec"];
    let has = class.as_deref();
    let asked = spec.get("storageClassName").and_then(Value::as_str).map(str::to_owned);
    if asked.is_some() && asked.as_deref() != has {
        remarks.push(unchangeable("storageClassName", has.unwrap_or("none")));
        spec.as_object_mut().map(|spec| spec.shift_remove("storageClassName"));
    }
    if *class_is_applied {
        spec["storageClassName"] = json!(has);
    }
    let modes = json!(access_modes);
    if !access_modes.is_empty() && spec["accessModes"] != modes {
        if asks_for_modes(resource) {
            remarks.push(unchangeable("accessModes", &access_modes.join(", ")));
        }
        spec["accessModes"] = modes;
    }
    (desired, remarks)
}

fn asks_for_modes(resource: &Resource) -> bool {
    let workload = resource.spec.as_ref().and_then(|spec| spec.workload.as_ref());
    let storage = workload.and_then(|workload| workload.storage.as_ref());
    storage.is_some_and(|storage| storage.access_modes.is_some())
}

fn unchangeable(field: &str, has: &str) -> Problem {
    Problem {
        path: FieldPath::spec().key("workload").key("storage").key(field),
        reason: Reason::Ignored,
        message: format!("a volume that is there cannot change it: it has {has}"),
        remedy: "make a claim as you want it, copy the data, and name it in existingClaim"
            .to_owned(),
    }
}

/// A claim that is there and cannot grow: a remark, where it was that which the API server refused.
pub(super) fn not_growing(
    live: Option<&LiveObject>,
    desired: &Value,
    failed: &WriteFailure,
) -> Option<Problem> {
    let (asked, has) = sizes(desired, live)?;
    // A storage class without expansion is refused as forbidden.
    let refused = failed.refused == Refused::Invalid || failed.message.contains("forbidden");
    (refused && asked != has).then(|| Problem {
        path: path(),
        reason: Reason::Ignored,
        message: format!("the volume stays at {has}: {}", failed.message),
        remedy: "use a storage class that allows volume expansion, or set the old size".to_owned(),
    })
}

/// A claim that somebody deletes stays as long as a pod uses it. To wait for that before anything
/// else is applied would be to wait for ever: what is applied may be that no pod shall run.
pub(super) fn going(live: &LiveObject) -> Option<Problem> {
    live.deleting.then(|| Problem {
        path: FieldPath::spec().key("workload").key("storage"),
        reason: Reason::Ignored,
        message: "the volume's claim is being deleted, which ends when no pod uses it".to_owned(),
        remedy: "set workload.replicas to 0 to let it go; a new one is made then".to_owned(),
    })
}

/// The claims that are to outlive the resource and would be deleted with it. Who owns data is settled before all
/// else, also where nothing can be planned: a spec that cannot be read asks for nothing to be deleted.
pub fn bound_to_resource<'a>(
    resource: &'a Resource,
    objects: &'a [LiveObject],
) -> impl Iterator<Item = &'a LiveObject> {
    let workload = resource.spec.as_ref().and_then(|spec| spec.workload.as_ref());
    let storage = workload.and_then(|workload| workload.storage.as_ref());
    let policy = storage.and_then(|storage| storage.deletion_policy).unwrap_or_default();
    let kept =
        objects.iter().filter(move |live| policy == DeletionPolicy::Retain && !live.deleting);
    kept.filter(|live| is_owned_by(resource, live))
}

fn is_owned_by(resource: &Resource, live: &LiveObject) -> bool {
    let mut owners = live.claim().into_iter().flat_map(|claim| &claim.owners);
    owners.any(|owner| **owner == *resource.owner())
}

/// Whether a claim that is to outlive the resource would be deleted with it, because somebody made it
/// the resource's: v0.9 under whichever name its program was built, or a person.
pub(super) fn would_go_with(resource: &Resource, desired: &Value, live: &LiveObject) -> bool {
    let is_kept = desired["metadata"].get("ownerReferences").is_none();
    is_kept && is_owned_by(resource, live)
}

/// The claim with the size that the live one has.
pub(super) fn with_its_size(mut desired: Value, live: Option<&LiveObject>) -> Value {
    if let Some((_, has)) = sizes(&desired, live) {
        desired["spec"]["resources"]["requests"]["storage"] = json!(has);
    }
    desired
}

/// What is asked for, and what the live claim has.
fn sizes<'a>(desired: &Value, live: Option<&'a LiveObject>) -> Option<(String, &'a str)> {
    let live = live?.claim()?;
    let asked = desired["spec"]["resources"]["requests"]["storage"].as_str()?;
    Some((asked.to_owned(), &live.size))
}

fn path() -> FieldPath {
    FieldPath::spec().key("workload").key("storage").key("size")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::ObjectKind;

    fn live(applied: bool) -> LiveObject {
        let fields = json!({"f:spec": {"f:storageClassName": {}}});
        let entry = json!({
            "manager": "llama-stack-operator", "operation": "Apply", "fieldsV1": fields,
        });
        let managed = if applied { json!([entry]) } else { json!([]) };
        let claim = json!({
            "metadata": {"name": "llama-pvc", "namespace": "here", "managedFields": managed},
            "spec": {"storageClassName": "slow", "accessModes": ["ReadWriteOnce"]},
        });
        LiveObject::parse(ObjectKind::VolumeClaim, &claim).unwrap().1
    }

    fn resource(storage: &Value) -> Resource {
        Resource::parse(&json!({
            "metadata": {"name": "llama", "namespace": "here"},
            "spec": {"distribution": {"name": "starter"}, "workload": {"storage": storage}},
        }))
    }

    #[test]
    fn a_volume_that_is_there_keeps_its_class_and_its_modes_and_says_so() {
        let asked = json!({"storageClassName": "fast", "accessModes": ["ReadWriteMany"]});
        let desired = json!({"spec": asked});
        let (kept, remarks) = with_its_kind(&resource(&asked), desired.clone(), Some(&live(true)));
        let class = json!({"storageClassName": "slow", "accessModes": ["ReadWriteOnce"]});
        assert_eq!(kept["spec"], class);
        let paths: Vec<String> = remarks.iter().map(|remark| remark.path.to_string()).collect();
        assert_eq!(
            paths,
            ["spec.workload.storage.storageClassName", "spec.workload.storage.accessModes"]
        );
        // A class that the cluster chose is not ours to apply, nor is one that nobody asks for.
        let plain = json!({"spec": {"accessModes": ["ReadWriteOnce"]}});
        let (kept, remarks) =
            with_its_kind(&resource(&json!({})), plain.clone(), Some(&live(false)));
        assert_eq!((kept, remarks.len()), (plain.clone(), 0));
        let (kept, remarks) = with_its_kind(&resource(&json!({})), plain, Some(&live(true)));
        assert_eq!((&kept["spec"]["storageClassName"], remarks.len()), (&json!("slow"), 0));
        let (made, _) = with_its_kind(&resource(&json!({})), desired.clone(), None);
        assert_eq!(made, desired);
    }
}
