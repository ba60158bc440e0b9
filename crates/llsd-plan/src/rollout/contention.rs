//! Two installations of the operator, each with a key of its own, that manage the same resource. One takes a
//! Deployment over from the other once; the one that lost it leaves the resource alone for a while, instead of
//! taking it back at once.

use serde_json::Value;

use crate::live::DeploymentDetail;
use crate::objects::{PlannedObject, labels};
use crate::resource::template_inputs::Inputs;

/// For so many seconds an installation leaves a resource alone that another one took over from it.
pub const LEFT_ALONE: i64 = 600;

/// That another installation has taken a resource over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contention {
    /// Stand for the keys of this installation and of the other one.
    pub own: String,
    pub other: String,
    /// The seconds for which the resource is still left alone.
    pub rest: i64,
}

/// Whether another installation than that with this key took the Deployment over from it a short while ago.
pub fn contention(live: &DeploymentDetail, hash_key: &str, now: i64) -> Option<Contention> {
    let recorded = Inputs::parse(live.inputs.as_deref()?);
    let (own, other) = (Inputs::key_part(hash_key), recorded.key()?.to_owned());
    let (from, at) = live.taken_over.as_deref()?.split_once(' ')?;
    let rest = LEFT_ALONE - (now - at.parse::<i64>().ok()?);
    let is_left_alone = own != other && from == own && rest > 0;
    is_left_alone.then_some(Contention { own, other, rest })
}

/// Records from which installation the Deployment is taken over, and when. The record stays until the next
/// time: at rest nothing is written.
pub(super) fn note_takeover(
    planned: &mut PlannedObject,
    live: Option<&DeploymentDetail>,
    now: i64,
) {
    let Some(live) = live else { return };
    let annotations = &mut planned.json["metadata"]["annotations"];
    let planned_inputs = annotations[labels::INPUTS].as_str().map(Inputs::parse);
    let recorded = live.inputs.as_deref().map(Inputs::parse);
    let own = planned_inputs.as_ref().and_then(Inputs::key);
    let other = recorded
        .as_ref()
        .and_then(Inputs::key)
        .filter(|other| own.is_some_and(|own| own != *other));
    let record = other.map(|other| format!("{other} {now}"));
    if let Some(record) = record.or_else(|| live.taken_over.as_deref().map(str::to_owned)) {
        annotations[labels::TAKEN_OVER] = Value::String(record);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::objects::ObjectKind;

    fn planned(key: &str) -> PlannedObject {
        let inputs = format!("key={} spec=1", Inputs::key_part(key));
        let json = json!({"metadata": {"annotations": {labels::INPUTS: inputs}}});
        PlannedObject { kind: ObjectKind::Deployment, name: "llama".into(), json }
    }

    /// The Deployment as an operator with this key leaves it.
    fn applied(key: &str, live: Option<&DeploymentDetail>, now: i64) -> DeploymentDetail {
        let mut object = planned(key);
        note_takeover(&mut object, live, now);
        let record = |name: &str| object.json["metadata"]["annotations"][name].as_str();
        DeploymentDetail {
            inputs: record(labels::INPUTS).map(Into::into),
            taken_over: record(labels::TAKEN_OVER).map(Into::into),
            ..DeploymentDetail::default()
        }
    }

    #[test]
    fn one_takes_over_once_and_the_other_leaves_it_alone_for_ten_minutes() {
        let first = applied("a", None, 0);
        assert_eq!(contention(&first, "a", 0), None);
        assert_eq!(contention(&first, "b", 0), None, "another operator takes over");
        let second = applied("b", Some(&first), 1000);
        assert_eq!(contention(&second, "b", 1000), None);
        let lost = contention(&second, "a", 1001).unwrap();
        assert_eq!((lost.rest, &lost.own), (599, &Inputs::key_part("a")));
        assert_eq!(contention(&second, "a", 1600), None, "the other one may be gone by now");
        assert_eq!(contention(&second, "c", 1001), None, "a third one never had it");
        let later = applied("b", Some(&second), 2000);
        assert_eq!(later, second, "at rest nothing changes");
        let back = applied("a", Some(&second), 3000);
        assert!(contention(&back, "b", 3000).is_some() && contention(&back, "a", 3000).is_none());
    }
}
