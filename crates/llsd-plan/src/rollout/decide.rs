//! Every planned object with what is to be done about it now, and what has to wait.

use serde_json::Value;

use super::action::Action;
use super::{adopted, claim};
use crate::live::{DeploymentDetail, LiveObject};
use crate::objects::{ObjectKind, PlannedObject};
use crate::problem::Problem;
use crate::resource::Resource;

/// What the cluster holds of a resource's objects.
#[derive(Clone, Debug, Default)]
pub struct Running {
    /// Those that are the resource's own.
    pub objects: Vec<LiveObject>,
    /// Those that have the name of a planned one and are somebody else's.
    pub foreign: Vec<(ObjectKind, String)>,
    /// The Deployment whole, where [`keeps_template`] says that it stays as it is.
    pub deployment: Option<Value>,
}

/// What of a plan may reach the cluster now.
#[derive(Clone, Debug, Default)]
pub struct Rollout<'a> {
    /// In the order in which they are carried out. The first that cannot be stops the rest.
    pub decisions: Vec<Decision<'a>>,
    /// What waits for the next change of the resource, as field paths of the Deployment.
    pub waiting: Vec<String>,
    /// Remarks that only the cluster's objects bring up, such as a volume that cannot shrink.
    pub warnings: Vec<Problem>,
}

/// What is to be done about one object.
#[derive(Clone, Debug)]
pub struct Decision<'a> {
    /// As it is applied.
    pub object: PlannedObject,
    pub action: Action<'a>,
    pub beforehand: Beforehand,
}

/// What the live object needs before it is updated, because applying alone cannot bring it about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beforehand {
    Nothing,
    /// A Deployment that leaves the number of pods to somebody else keeps this one until then.
    LeavePods(i32),
    /// A Deployment without pods is given this many: an autoscaler never wakes one at zero.
    WakePods(i32),
    /// A claim that outlives its resource must not be owned by it, whoever said that it is: it would
    /// be deleted with the resource.
    Disown,
}

/// Decides about all planned objects. `image_override` is the image by which the operator's
/// configuration replaces that of the resource's distribution.
pub fn decide<'a>(
    resource: &Resource,
    planned: Vec<PlannedObject>,
    image_override: Option<&str>,
    running: &'a Running,
) -> Rollout<'a> {
    let mut rollout = Rollout::default();
    let fewest = fewest_scaled(&planned);
    for object in planned {
        let live = running.counterpart(&object);
        let is_foreign = || {
            let mut foreign = running.foreign.iter();
            foreign.any(|(kind, name)| *kind == object.kind && *name == object.name)
        };
        let decision = if live.is_none() && is_foreign() {
            Decision { object, action: Action::Refuse, beforehand: Beforehand::Nothing }
        } else {
            match object.kind {
                ObjectKind::Deployment => {
                    rollout.deployment(resource, object, image_override, live, running, fewest)
                }
                ObjectKind::VolumeClaim => rollout.claim(resource, object, live, running),
                ObjectKind::ServiceAccount
                | ObjectKind::Secret
                | ObjectKind::ConfigMap
                | ObjectKind::NetworkPolicy
                | ObjectKind::Service
                | ObjectKind::DisruptionBudget
                | ObjectKind::Autoscaler
                | ObjectKind::Ingress
                | ObjectKind::HttpRoute
                | ObjectKind::Route => Decision::of(resource, object, live),
            }
        };
        rollout.decisions.push(decision);
    }
    rollout
}

/// Whether the template of an earlier operator stays as it is, because the resource has not changed
/// since its Deployment was adopted, nor has an administrator overridden its image since.
pub fn keeps_template(
    resource: &Resource,
    planned: &PlannedObject,
    image_override: Option<&str>,
    live: Option<&LiveObject>,
) -> bool {
    match Action::of(&planned.json, live, resource.owner()) {
        Action::Adopt(_) => true,
        Action::Update(live) => live.deployment().is_some_and(|deployment| {
            deployment.adopted
                && deployment.is_for(resource)
                && !is_overridden_since(deployment, image_override)
        }),
        _ => false,
    }
}

/// Whether the override of the distribution's image is another one than at the adoption. v0.9 obeyed
/// the same ConfigMap, so an override that its Deployment runs is not new.
fn is_overridden_since(deployment: &DeploymentDetail, now: Option<&str>) -> bool {
    let then = deployment.adopted_override.as_deref();
    then != now && (then.is_some() || deployment.state.image.as_deref() != now)
}

/// The fewest pods of the planned autoscaler, where there is one.
fn fewest_scaled(planned: &[PlannedObject]) -> Option<i32> {
    let autoscaler = planned.iter().find(|object| object.kind == ObjectKind::Autoscaler)?;
    let fewest = autoscaler.json["spec"]["minReplicas"].as_i64();
    Some(fewest.and_then(|fewest| i32::try_from(fewest).ok()).unwrap_or(1))
}

impl Running {
    /// The resource's own object of the same kind and name.
    pub fn counterpart(&self, planned: &PlannedObject) -> Option<&LiveObject> {
        self.objects.iter().find(|live| live.is_named(planned.kind, &planned.name))
    }
}

impl<'a> Rollout<'a> {
    fn deployment(
        &mut self,
        resource: &Resource,
        mut object: PlannedObject,
        image_override: Option<&str>,
        live: Option<&'a LiveObject>,
        running: &Running,
        fewest: Option<i32>,
    ) -> Decision<'a> {
        if keeps_template(resource, &object, image_override, live) {
            let whole = running.deployment.as_ref().unwrap_or(&Value::Null);
            self.waiting = adopted::waiting(&object.json, whole);
            let state = resource.state().unwrap_or_default();
            object.json = adopted::mark(&object.json, &state, image_override);
            let decision = Decision::of(resource, object, live);
            let action = match decision.action {
                Action::Adopt(live) | Action::Update(live) => Action::Mark(live),
                other => other,
            };
            return Decision { action, ..decision };
        }
        let decision = Decision::of(resource, object, live);
        let Some((live, deployment)) = live.and_then(|live| Some((live, live.deployment()?)))
        else {
            return decision;
        };
        let leaves_number = decision.object.json["spec"].get("replicas").is_none();
        let beforehand = match (fewest, deployment.state.wanted) {
            _ if !leaves_number => Beforehand::Nothing,
            // One is what the API server puts where nobody says a number.
            (None, 0 | 1) | (Some(_), 1) => Beforehand::Nothing,
            (Some(fewest), 0) => Beforehand::WakePods(fewest),
            (_, wanted) => Beforehand::LeavePods(wanted),
        };
        let action = match decision.action {
            Action::Update(live) if deployment.adopted => Action::Adopt(live),
            Action::Leave if matches!(beforehand, Beforehand::WakePods(_)) => Action::Update(live),
            other => other,
        };
        Decision { action, beforehand, ..decision }
    }

    fn claim(
        &mut self,
        resource: &Resource,
        object: PlannedObject,
        live: Option<&'a LiveObject>,
        running: &Running,
    ) -> Decision<'a> {
        let runs = running.objects.iter().any(|live| live.kind == ObjectKind::Deployment);
        if let Some(remark) = live.filter(|_| runs).and_then(claim::going) {
            self.warnings.push(remark);
            return Decision { object, action: Action::Leave, beforehand: Beforehand::Nothing };
        }
        let (json, shrinking) = claim::without_shrinking(object.json, live);
        self.warnings.extend(shrinking);
        let (json, unchangeable) = claim::with_its_kind(resource, json, live);
        self.warnings.extend(unchangeable);
        let decision = Decision::of(resource, PlannedObject { json, ..object }, live);
        match (live, decision.action) {
            (Some(live), Action::Leave | Action::Update(_) | Action::Adopt(_))
                if claim::would_go_with(resource, &decision.object.json, live) =>
            {
                let action = match decision.action {
                    Action::Leave => Action::Update(live),
                    other => other,
                };
                Decision { action, beforehand: Beforehand::Disown, ..decision }
            }
            _ => decision,
        }
    }
}

impl<'a> Decision<'a> {
    /// What to do about an object that follows no rule of its own.
    pub fn of(resource: &Resource, object: PlannedObject, live: Option<&'a LiveObject>) -> Self {
        let action = Action::of(&object.json, live, resource.owner());
        Self { object, action, beforehand: Beforehand::Nothing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::DeploymentState;

    #[test]
    fn an_edit_of_the_override_is_a_change_and_what_v0_9_obeyed_already_is_none() {
        let adopted = |image: &str, then: Option<&str>| DeploymentDetail {
            state: DeploymentState { image: Some(image.into()), ..DeploymentState::default() },
            adopted: true,
            adopted_override: then.map(Into::into),
            ..DeploymentDetail::default()
        };
        for (image, then, now, changed) in [
            ("own:1", None, None, false),
            ("mirror:1", Some("mirror:1"), Some("mirror:1"), false),
            ("mirror:1", None, Some("mirror:1"), false),
            ("own:1", None, Some("mirror:1"), true),
            ("mirror:1", Some("mirror:1"), Some("mirror:2"), true),
            ("mirror:1", Some("mirror:1"), None, true),
        ] {
            let detail = adopted(image, then);
            assert_eq!(is_overridden_since(&detail, now), changed, "{image} {then:?} {now:?}");
        }
    }
}
