//! A running server is restarted by a change of its resource's own inputs and by nothing else. While those
//! are as they were, its Deployment keeps the pod template that it has, whatever this operator would write; unless no
//! pod of that template was ever available.

use k8s_openapi::api::core::v1::PodSpec;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::action::Action;
use super::difference;
use super::rename::rename;
use super::retention::{self, Names};
use super::rollback::Return;
use super::unchanged::has_its_inputs;
use crate::fingerprint;
use crate::live::{LiveObject, read_part, reads};
use crate::objects::{ObjectKind, PlannedObject, labels, names};
use crate::resource::Resource;
use crate::resource::template_inputs::{self, Inputs, is_read_at_start};
use crate::values::sha256;

/// A template that stays although another one is planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptTemplate {
    pub cause: KeepCause,
    /// What waits, as field paths of the Deployment.
    pub waiting: Vec<String>,
    /// What its pods cannot start without.
    pub needs: Names,
}

impl KeptTemplate {
    /// Of a live Deployment that stays as it is.
    pub(super) fn of_whole(cause: KeepCause, planned: &Value, live: &Value) -> Self {
        let waiting = difference::places(&planned["spec"], &live["spec"], "spec");
        Self { cause, waiting, needs: needs(live) }
    }

    /// Of a template that is applied in the place of the planned one.
    pub(super) fn of_template(
        cause: KeepCause,
        planned: &Value,
        template: &Value,
        needs: Names,
    ) -> Self {
        let wanted = &planned["spec"]["template"];
        Self { cause, waiting: difference::places(wanted, template, "spec.template"), needs }
    }
}

/// Why a template stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeepCause {
    /// It came with an earlier operator's Deployment.
    Adopted,
    /// This operator makes another one of the same inputs than the one before it.
    Upgrade,
    /// The planned one is being checked, or was refused.
    Preflight,
    /// The planned one comes from inputs that other servers share, and those have their turn first.
    WaitingForTurn,
    /// The planned one did not become available, or somebody asked for one of before.
    RolledBack(Return),
}

/// Whether the template that a Deployment has stays, as far as its record says. The whole Deployment then
/// shows whether that makes a difference.
pub fn keeps_template(
    resource: &Resource,
    planned: &PlannedObject,
    image_override: Option<&str>,
    live: Option<&LiveObject>,
) -> bool {
    let ours = match Action::of_any(live, resource.owner()) {
        Ok(ours) => ours,
        Err(action) => return matches!(action, Action::Adopt(_)),
    };
    let stays = ours.deployment().is_some_and(|deployment| {
        let annotations = &planned.json["metadata"]["annotations"];
        let is_planned_alike =
            deployment.template.as_deref() == annotations[labels::TEMPLATE_HASH].as_str();
        // Planned as it was applied: whatever differs in it is somebody else's doing.
        let repairs = deployment.template.is_some() && is_planned_alike;
        // An adopted one waits for its user's word in any case: taking over changes nothing.
        let is_protected = deployment.adopted || !deployment.never_ran();
        !repairs
            && is_protected
            && has_its_inputs(resource, annotations, image_override, deployment)
    });
    // To compare all of it takes longest, so that comes last.
    let action = || Action::for_object(&planned.json, live, resource.owner());
    stays && matches!(action(), Action::Update(_))
}

/// The planned Deployment with the template that the live one has of us, and what waits. `None` where that
/// is the planned one; nothing waits where only hashes of the same values differ.
pub(super) fn with_live_template(
    planned: &Value,
    live: &Value,
    still_read: &Inputs,
) -> Option<(Value, Option<KeptTemplate>)> {
    let recorded = &live["metadata"]["annotations"];
    let mut template = fingerprint::owned_template(live)?;
    let mut planned = planned.clone();
    let back = recorded[labels::ROLLED_BACK].as_str();
    if back.is_some() {
        let made_from = recorded[labels::INPUTS].as_str();
        template = with_new_values(template, &mut planned, still_read, made_from);
    }
    let mut wanted = planned["spec"]["template"].clone();
    if fingerprint::of_template(&template) == fingerprint::of_template(&wanted) {
        return None;
    }
    let cause = back.map_or(KeepCause::Upgrade, |back| KeepCause::RolledBack(Return::parse(back)));
    let records = [labels::TEMPLATE_HASH, labels::ROLLED_BACK];
    // No value changed, or this were no template that stays: another key made these hashes. How pods are
    // spread follows their number, from which no pod is made.
    for field in ["topologySpreadConstraints", "affinity"] {
        if let Some(pod) = wanted["spec"].as_object_mut() {
            replace(pod, field, &template["spec"][field]);
        }
    }
    if let Some(annotations) = wanted["metadata"]["annotations"].as_object_mut() {
        for hash in [labels::SECRET_HASH, labels::VARIABLES_HASH] {
            replace(annotations, hash, &template["metadata"]["annotations"][hash]);
        }
    }
    let is_alike = fingerprint::of_template(&template) == fingerprint::of_template(&wanted);
    let (json, kept) = with_records(&planned, live, template, cause, &records);
    Some((json, Some(kept).filter(|_| !is_alike)))
}

/// The planned Deployment with the template and the records that the live one has, so that the planned
/// template is still news once it may be applied; and what waits. `None` where the live one has no
/// template of ours. If `gives_values`, values of Secrets still reach the pods: where the planned one was
/// refused, no preflight says anything of them.
pub(super) fn until_later(
    planned: &Value,
    live: &Value,
    still_read: &Inputs,
    gives_values: bool,
    cause: KeepCause,
) -> Option<(Value, KeptTemplate)> {
    let mut template = fingerprint::owned_template(live)?;
    let made_from = live["metadata"]["annotations"][labels::INPUTS].as_str();
    let now = inputs(planned).beside(still_read);
    let mut changed = new_values(&template, &now, made_from);
    changed.retain(|part| gives_values && part.starts_with(template_inputs::SECRET));
    restart_for(&mut template, planned, &now, &changed);
    // Pods that start again are others: which state was good before them is news.
    let records: Vec<&str> = labels::RECORDS
        .into_iter()
        .filter(|record| changed.is_empty() || !labels::OF_LAST_GOOD.contains(record))
        .collect();
    let (mut json, kept) = with_records(planned, live, template, cause, &records);
    let annotations = &mut json["metadata"]["annotations"];
    let good = annotations[labels::LAST_GOOD_INPUTS].as_str();
    if let Some(good) = good_inputs(good, made_from, &planned["metadata"]["annotations"]) {
        annotations[labels::LAST_GOOD_INPUTS] = good.into();
    }
    if let Some(made_from) = made_from {
        let parts: Vec<&str> = changed.iter().map(String::as_str).collect();
        let record = Inputs::parse(made_from).with_parts_of(&parts, &now).rekeyed(&now);
        annotations[labels::INPUTS] = record.text().into();
    }
    Some((json, kept))
}

fn inputs(planned: &Value) -> Inputs {
    let recorded = planned["metadata"]["annotations"][labels::INPUTS].as_str();
    recorded.map(Inputs::parse).unwrap_or_default()
}

/// What the last good template was made from, by its record and that of the template that runs, such that the planned
/// one can be compared with it although the operator has another key by now.
pub(super) fn good_inputs(
    good: Option<&str>,
    current: Option<&str>,
    planned: &Value,
) -> Option<String> {
    let current = current.map(Inputs::parse).unwrap_or_default();
    let now = planned[labels::INPUTS].as_str().map(Inputs::parse).unwrap_or_default();
    good.map(|good| Inputs::parse(good).rekeyed_like(&current, &now).text())
}

/// The parts that pods of a template read and that are others by now than those in the record that the
/// template was made from.
fn new_values(template: &Value, now: &Inputs, made_from: Option<&str>) -> Vec<String> {
    let Some(made_from) = made_from.map(Inputs::parse) else { return Vec::new() };
    let read = reads(template);
    let changed = now.changes(&made_from);
    let changed = changed.filter(|part| is_read_at_start(part) && read_part(&read, part));
    changed.map(str::to_owned).collect()
}

/// A template that stays, such that its pods start again with the values that are there now. The record of the
/// planned Deployment then mentions what they read beside what is planned.
pub(super) fn with_new_values(
    mut template: Value,
    planned: &mut Value,
    still_read: &Inputs,
    made_from: Option<&str>,
) -> Value {
    let (planned_inputs, read) = (inputs(planned), reads(&template));
    let still_read = still_read.clone().only(|part| read_part(&read, part));
    let now = planned_inputs.beside(&still_read);
    let changed = new_values(&template, &now, made_from);
    restart_for(&mut template, planned, &now, &changed);
    planned["metadata"]["annotations"][labels::INPUTS] = now.text().into();
    template
}

/// Has the pods of a template start again for parts that changed. Nothing else of it changes but names that
/// stand for such a value.
fn restart_for(template: &mut Value, planned: &Value, now: &Inputs, changed: &[String]) {
    if changed.is_empty() {
        return;
    }
    let wanted = &planned["spec"]["template"];
    let parts: Vec<&str> = changed.iter().map(String::as_str).collect();
    let values = Inputs::default().with_parts_of(&parts, now).text();
    for part in parts {
        let hash = match part {
            template_inputs::CA_BUNDLE => labels::CA_BUNDLE_HASH,
            template_inputs::VARIABLES => labels::VARIABLES_HASH,
            _ => labels::SECRET_HASH,
        };
        let annotation = &mut template["metadata"]["annotations"][hash];
        let before = annotation.as_str().unwrap_or_default();
        *annotation = sha256::hex(&format!("{before} {values}")).into();
    }
    let resource = planned["metadata"]["name"].as_str().unwrap_or_default();
    let is_changed = [
        changed.iter().any(|part| part.starts_with(template_inputs::SECRET)),
        changed.iter().any(|part| part == template_inputs::CA_BUNDLE),
    ];
    let names = named_by_value(template, resource).zip(named_by_value(wanted, resource));
    for (names, is_changed) in names.zip(is_changed) {
        if let (Some(before), Some(now), true) = (names.0, names.1, is_changed) {
            rename(template, &before, &now);
        }
    }
}

/// The names in a template that stand for a value: of the Secret with a connection string, and of the
/// ConfigMap with certificates.
fn named_by_value(
    template: &Value,
    resource: &str,
) -> impl Iterator<Item = Option<String>> + use<> {
    let names = needs(&json!({"spec": {"template": template}}));
    let find = |is_it: &dyn Fn(ObjectKind, &str) -> bool| {
        names.iter().find(|(kind, name)| is_it(*kind, name)).map(|(_, name)| name.clone())
    };
    let secret = |kind: ObjectKind, name: &str| {
        kind == ObjectKind::Secret && kind.resource_named(name) == Some(resource)
    };
    let bundles = names::ca_bundles(resource);
    let bundle =
        |kind: ObjectKind, name: &str| kind == ObjectKind::ConfigMap && name.starts_with(&bundles);
    [find(&secret), find(&bundle)].into_iter()
}

/// The planned Deployment with this template and these records of the live one, and what waits.
fn with_records(
    planned: &Value,
    live: &Value,
    template: Value,
    cause: KeepCause,
    records: &[&str],
) -> (Value, KeptTemplate) {
    let kept = KeptTemplate::of_template(cause, planned, &template, needs(live));
    let recorded = &live["metadata"]["annotations"];
    let mut json = with_template(planned, template);
    if let Some(annotations) = json["metadata"]["annotations"].as_object_mut() {
        for record in records {
            replace(annotations, record, &recorded[*record]);
        }
    }
    (json, kept)
}

/// The planned Deployment with another template, which nobody plans now.
pub(super) fn with_template(planned: &Value, template: Value) -> Value {
    let mut json = planned.clone();
    if let Some(annotations) = json["metadata"]["annotations"].as_object_mut() {
        for hash in labels::HASHES {
            replace(annotations, hash, &template["metadata"]["annotations"][hash]);
        }
        annotations.shift_remove(labels::TEMPLATE_HASH);
    }
    json["spec"]["template"] = template;
    json
}

/// What the pods of a live Deployment cannot start without.
pub(super) fn needs(live: &Value) -> Names {
    let pod = PodSpec::deserialize(&live["spec"]["template"]["spec"]);
    pod.as_ref().map(retention::needs).unwrap_or_default()
}

pub(super) fn replace(annotations: &mut Map<String, Value>, name: &str, value: &Value) {
    match value {
        Value::Null => drop(annotations.shift_remove(name)),
        value => drop(annotations.insert(name.to_owned(), value.clone())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::objects::ObjectKind;

    fn deployment(inputs: &str, hash: &str, image: &str) -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {
                "name": "llama", "namespace": "here",
                "annotations": {
                    labels::INPUTS: inputs, labels::TEMPLATE_HASH: hash, labels::CONFIG_HASH: hash,
                },
            },
            "spec": {"template": {
                "metadata": {"annotations": {labels::CONFIG_HASH: hash}},
                "spec": {"containers": [
                    {"name": "server", "image": image, "env": [{"name": "EMPTY", "value": ""}]},
                ]},
            }},
        })
    }

    /// As the API server stores it: with its defaults, without what is empty, and with what others added.
    fn live(inputs: &str, hash: &str, image: &str) -> Value {
        let mut live = deployment(inputs, hash, image);
        live["metadata"]["uid"] = json!("2");
        live["metadata"]["managedFields"] = json!([{
            "manager": "llama-stack-operator", "operation": "Apply",
            "fieldsV1": {
                "f:metadata": {"f:annotations": {
                    "f:llamastack.io/inputs": {}, "f:llamastack.io/template-hash": {},
                }},
                "f:spec": {"f:template": {
                    "f:metadata": {"f:annotations": {"f:llamastack.io/config-hash": {}}},
                    "f:spec": {"f:containers": {"k:{\"name\":\"server\"}": {
                        ".": {}, "f:name": {}, "f:image": {},
                        "f:env": {"k:{\"name\":\"EMPTY\"}": {".": {}, "f:name": {}, "f:value": {}}},
                    }}},
                }},
            },
        }]);
        let container = &mut live["spec"]["template"]["spec"]["containers"][0];
        container["imagePullPolicy"] = json!("IfNotPresent");
        container["env"] = json!([{"name": "EMPTY"}, {"name": "OF_OTHERS", "value": "1"}]);
        live["spec"]["selector"] = json!({"matchLabels": {labels::INSTANCE: "llama"}});
        live
    }

    #[test]
    fn what_is_kept_can_be_applied_again_and_changes_nothing() {
        let live = live("spec=1", "old", "server:1");
        let planned = deployment("spec=1 env=-", "new", "server:2");
        let (json, kept) = with_live_template(&planned, &live, &Inputs::default()).unwrap();
        let same = deployment("spec=1 env=-", "old", "server:1");
        assert_eq!(fingerprint::of_desired(&json), fingerprint::of_desired(&same), "{json}");
        let kept = kept.unwrap();
        assert_eq!((kept.cause, kept.waiting.len()), (KeepCause::Upgrade, 2));
        assert!(kept.waiting[1].ends_with("containers[server].image"), "{:?}", kept.waiting);
        let equal = deployment("spec=1", "new", "server:1");
        let mut other_hash = equal.clone();
        other_hash["spec"]["template"]["metadata"]["annotations"][labels::CONFIG_HASH] =
            json!("old");
        assert_eq!(
            with_live_template(&other_hash, &live, &Inputs::default()),
            None,
            "the very same is planned"
        );
    }

    #[test]
    fn a_template_stays_unless_an_input_changed_or_somebody_meddled_with_it() {
        let resource =
            Resource::parse(&json!({"metadata": {"name": "llama", "namespace": "here"}}));
        let keeps = |inputs: &str, hash: &str| {
            let json = deployment(inputs, hash, "server:2");
            let planned =
                PlannedObject { kind: ObjectKind::Deployment, name: "llama".into(), json };
            let live = live("spec=1 image=-", "old", "server:1");
            let (_, live) = LiveObject::parse(ObjectKind::Deployment, &live).unwrap();
            keeps_template(&resource, &planned, None, Some(&live))
        };
        assert!(keeps("spec=1 image=-", "new"), "only the operator plans otherwise");
        assert!(
            keeps("spec=1 image=- env=00", "new"),
            "what was not looked at before is no change"
        );
        assert!(!keeps("spec=2 image=-", "new"));
        assert!(!keeps("spec=1 image=ff", "new"));
        assert!(!keeps("spec=1 image=-", "old"), "planned as it was: what differs is repaired");
    }
}
