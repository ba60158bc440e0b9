//! What to do about one planned object, decided from what is known of the live one. Pure.

use llsd_plan::fingerprint;
use serde_json::Value;

use crate::operator::controller::cache::Child;

/// The next thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The live object is what would be applied.
    Nothing,
    Create,
    Update,
    /// An earlier operator's object: take its fields over, then apply.
    Adopt,
    /// One of that name is about to go.
    Wait,
    /// It belongs to somebody else.
    NotOurs,
}

/// `owner` is the resource's uid.
pub fn decide(desired: &Value, live: Option<&Child>, owner: &str) -> Step {
    let Some(live) = live else { return Step::Create };
    if live.deleting {
        return Step::Wait;
    }
    match &live.controller {
        Some(controller) if **controller != *owner => {
            // Of a resource of the same name that is gone: its objects go too, in a moment.
            return if live.controlled_by_us { Step::Wait } else { Step::NotOurs };
        }
        _ => {}
    }
    if live.fingerprint.is_none() {
        return Step::Adopt;
    }
    let desired = Some(fingerprint::of_desired(desired));
    if live.fingerprint == desired || live.answered == desired {
        Step::Nothing
    } else {
        Step::Update
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::operator::controller::cache::Detail;
    use llsd_plan::objects::ObjectKind;

    #[test]
    fn only_what_is_ours_is_written_and_only_when_it_differs() {
        let desired = json!({"kind": "Service", "metadata": {"name": "s"}, "spec": {"a": 1}});
        let live = Child {
            kind: ObjectKind::Service,
            name: "s".into(),
            uid: "1".into(),
            version: 1,
            controller: Some("owner".into()),
            controlled_by_us: true,
            fingerprint: Some(fingerprint::of_desired(&desired)),
            answered: None,
            created: "".into(),
            deleting: false,
            detail: Detail::None,
        };
        let other = json!({"kind": "Service", "metadata": {"name": "s"}, "spec": {"a": 2}});
        assert_eq!(decide(&desired, None, "owner"), Step::Create);
        assert_eq!(decide(&desired, Some(&live), "owner"), Step::Nothing);
        assert_eq!(decide(&other, Some(&live), "owner"), Step::Update);
        assert_eq!(decide(&desired, Some(&live), "new"), Step::Wait, "the old one's is collected");
        let stranger = Child { controlled_by_us: false, ..live.clone() };
        assert_eq!(decide(&desired, Some(&stranger), "new"), Step::NotOurs);
        let going = Child { deleting: true, ..live.clone() };
        assert_eq!(decide(&desired, Some(&going), "owner"), Step::Wait);
        let kept = Child { controller: None, controlled_by_us: false, ..live.clone() };
        assert_eq!(decide(&desired, Some(&kept), "new"), Step::Nothing, "a claim that was kept");
        let mutated = Child {
            fingerprint: Some(fingerprint::of_desired(&other)),
            answered: Some(fingerprint::of_desired(&desired)),
            ..live.clone()
        };
        assert_eq!(decide(&desired, Some(&mutated), "owner"), Step::Nothing, "a webhook's doing");
        let old = Child { fingerprint: None, ..live };
        assert_eq!(decide(&desired, Some(&old), "owner"), Step::Adopt);
    }
}
