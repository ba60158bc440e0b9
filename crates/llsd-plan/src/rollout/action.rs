//! What to do about one planned object, decided from what is known of the live one.

use serde_json::Value;

use crate::fingerprint::{self, Fingerprint};
use crate::live::LiveObject;
use crate::objects::start_program;

/// The next thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action<'a> {
    /// The live object is what would be applied, or may not be touched now.
    Leave,
    Create,
    Update(&'a LiveObject),
    /// An earlier operator's object: take its fields over, then apply.
    Adopt(&'a LiveObject),
    /// An earlier operator's Deployment: only say whose it is now.
    Mark(&'a LiveObject),
    /// One of that name is about to go.
    Wait,
    /// It belongs to somebody else.
    Refuse,
}

impl<'a> Action<'a> {
    /// `owner` is the resource's uid.
    pub(super) fn for_object(desired: &Value, live: Option<&'a LiveObject>, owner: &str) -> Self {
        if let Some(live) = live.filter(|live| live.is_shared()) {
            return Self::for_shared(live, start_program::fingerprint_of(desired));
        }
        let live = match Self::of_any(live, owner) {
            Ok(live) => live,
            Err(action) => return action,
        };
        let desired = Some(fingerprint::of_desired(desired));
        if live.fingerprint == desired || live.answered == desired {
            Self::Leave
        } else {
            Self::Update(live)
        }
    }

    /// What to do about the namespace's copy of the programs. Whoever made it, its content is verified; one
    /// with another content is never run.
    pub(super) fn for_shared(live: &'a LiveObject, desired: Fingerprint) -> Self {
        let desired = Some(desired);
        if live.deleting {
            Self::Wait
        } else if !live.is_intact() {
            Self::Refuse
        } else if live.fingerprint == desired || live.answered == desired {
            Self::Leave
        } else {
            Self::Update(live)
        }
    }

    /// What to do whatever is desired; the live object where that decides.
    pub(super) fn of_any(
        live: Option<&'a LiveObject>,
        owner: &str,
    ) -> Result<&'a LiveObject, Self> {
        let live = live.ok_or(Self::Create)?;
        if live.deleting {
            return Err(Self::Wait);
        }
        match &live.controller {
            Some(controller) if **controller != *owner => {
                // Of a resource of the same name that is gone: its objects go too, in a moment.
                return Err(if live.controlled_by_us { Self::Wait } else { Self::Refuse });
            }
            _ => {}
        }
        if live.fingerprint.is_none() {
            return Err(Self::Adopt(live));
        }
        Ok(live)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::live::Detail;
    use crate::objects::ObjectKind;

    #[test]
    fn only_what_is_ours_is_written_and_only_when_it_differs() {
        let desired = json!({"kind": "Service", "metadata": {"name": "s"}, "spec": {"a": 1}});
        let live = LiveObject {
            kind: ObjectKind::Service,
            name: "s".into(),
            uid: "1".into(),
            version: 1,
            controller: Some("owner".into()),
            controlled_by_us: true,
            fingerprint: Some(fingerprint::of_desired(&desired)),
            answered: None,
            created: 0,
            deleting: false,
            detail: Detail::None,
        };
        let other = json!({"kind": "Service", "metadata": {"name": "s"}, "spec": {"a": 2}});
        let of = Action::for_object;
        assert_eq!(of(&desired, None, "owner"), Action::Create);
        assert_eq!(of(&desired, Some(&live), "owner"), Action::Leave);
        assert_eq!(of(&other, Some(&live), "owner"), Action::Update(&live));
        assert_eq!(of(&desired, Some(&live), "new"), Action::Wait, "the old one's is collected");
        let stranger = LiveObject { controlled_by_us: false, ..live.clone() };
        assert_eq!(of(&desired, Some(&stranger), "new"), Action::Refuse);
        let going = LiveObject { deleting: true, ..live.clone() };
        assert_eq!(of(&desired, Some(&going), "owner"), Action::Wait);
        let kept = LiveObject { controller: None, controlled_by_us: false, ..live.clone() };
        assert_eq!(of(&desired, Some(&kept), "new"), Action::Leave, "a claim that was kept");
        let mutated = LiveObject {
            fingerprint: Some(fingerprint::of_desired(&other)),
            answered: Some(fingerprint::of_desired(&desired)),
            ..live.clone()
        };
        assert_eq!(of(&desired, Some(&mutated), "owner"), Action::Leave, "a webhook's doing");
        let old = LiveObject { fingerprint: None, ..live.clone() };
        assert_eq!(of(&desired, Some(&old), "owner"), Action::Adopt(&old));
    }
}
