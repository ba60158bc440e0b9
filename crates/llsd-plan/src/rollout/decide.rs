//! Every planned object with what is to be done about it now, and what has to wait.

use serde_json::{Value, json};

use super::action::Action;
use super::kept::{self, KeepCause, KeptTemplate, keeps_template};
use super::preflight::Preflight;
use super::rollback::{Back, Return};
use super::shared::{Copies, Lacking};
use super::wave::{Turn, Waiting};
use super::{
    adopted, causes, claim, contention, guard, old_pods_first, records, storage_secrets, wave,
};
use crate::live::{DeploymentDetail, LiveObject};
use crate::objects::{ObjectKind, PlannedObject, Role, labels};
use crate::problems::Problem;
use crate::resource::Resource;
use crate::resource::template_inputs::{self, Inputs};

/// What the cluster holds of a resource's objects.
#[derive(Clone, Debug, Default)]
pub struct ClusterState {
    /// Those that are the resource's own.
    pub objects: Vec<LiveObject>,
    /// Those that have the name of a planned one and are somebody else's.
    pub foreign: Vec<(ObjectKind, String)>,
    /// The Deployment whole, where [`keeps_template`] says that it stays as it is.
    pub deployment: Option<Value>,
    /// A return that [`super::returns_to`] asks for.
    pub back: Option<Back>,
    /// A return that is not made, because the server would answer everybody.
    pub open_return: Option<Return>,
    /// What became of the preflight of the planned change, where one is needed.
    pub preflight: Option<Preflight>,
    /// Whether a change of inputs that other servers share may reach this one now.
    pub turn: Turn,
    /// What is now in the Secrets that the pods which run read ([`super::still_read`]).
    pub still_read: Inputs,
    /// Secrets with connection strings that are on record and were deleted.
    pub gone: Vec<String>,
    /// Copies of the start programs that pods mount or will mount, and that are not there as they should be.
    pub lacking: Lacking,
    /// The time, in seconds.
    pub now: i64,
}

/// What of a plan may reach the cluster now.
#[derive(Clone, Debug, Default)]
pub struct Rollout<'a> {
    /// In the order in which they are carried out. The first that cannot be stops the rest.
    pub decisions: Vec<Decision<'a>>,
    /// The template that the Deployment keeps although another one is planned.
    pub kept: Option<KeptTemplate>,
    /// What became of the preflight of the planned change, where one is needed.
    pub preflight: Option<&'a Preflight>,
    /// What a change of shared inputs waits for, where it has to.
    pub waiting: Option<&'a Waiting>,
    /// Remarks that only the cluster's objects bring up, such as a volume that cannot shrink.
    pub warnings: Vec<Problem>,
    /// Why the Deployment's pod template changes; empty where it stays.
    pub causes: Vec<String>,
    /// Copies of the start programs that its pods mount, and that are missing and cannot be made.
    pub lost: Vec<String>,
    /// Of the Deployment nothing is ours yet but its metadata.
    only_marks: bool,
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
    running: &'a ClusterState,
) -> Rollout<'a> {
    let (preflight, waiting) = (running.preflight.as_ref(), running.turn.waiting());
    let mut rollout = Rollout { preflight, waiting, ..Rollout::default() };
    let fewest = fewest_scaled(&planned);
    let mut planned = planned;
    let is_open =
        planned.iter_mut().find(|object| object.kind == ObjectKind::Deployment).is_some_and(
            |deployment| rollout.settle_template(resource, deployment, image_override, running),
        );
    let copies = Copies::of_deployment(&planned, &running.objects, &running.lacking);
    rollout.take_copies(resource, copies, running);
    for object in planned {
        let live = running.counterpart(&object);
        let may_wait = live.is_none() || object.is_shared();
        if may_wait && rollout.is_for_the_next_template(&object) {
            continue;
        }
        if is_open && guard::is_held(object.kind, live.is_some()) {
            let (action, beforehand) = (Action::Leave, Beforehand::Nothing);
            rollout.decisions.extend(live.map(|_| Decision { object, action, beforehand }));
            continue;
        }
        let is_foreign = || {
            let mut foreign = running.foreign.iter();
            foreign.any(|(kind, name)| *kind == object.kind && *name == object.name)
        };
        let decision = if live.is_none() && is_foreign() {
            Decision::refused(object)
        } else {
            match object.kind.role() {
                Role::Workload => rollout.deployment(resource, object, live, fewest),
                Role::Data => rollout.claim(resource, object, live, running),
                Role::PodInput | Role::Exposure | Role::Companion => {
                    Decision::for_object(resource, object, live)
                }
            }
        };
        rollout.decisions.push(decision);
    }
    rollout
}

/// The fewest pods of the planned autoscaler, where there is one.
fn fewest_scaled(planned: &[PlannedObject]) -> Option<i32> {
    let autoscaler = planned.iter().find(|object| object.kind == ObjectKind::Autoscaler)?;
    let fewest = autoscaler.json["spec"]["minReplicas"].as_i64();
    Some(fewest.and_then(|fewest| i32::try_from(fewest).ok()).unwrap_or(1))
}

impl ClusterState {
    /// Of objects alone.
    pub fn of_objects(objects: Vec<LiveObject>) -> Self {
        Self { objects, ..Self::default() }
    }

    /// Puts objects as they were just written in the place of what was known of them.
    pub fn put(&mut self, written: Vec<LiveObject>) {
        for object in written {
            self.objects.retain(|known| !known.is_named(object.kind, &object.name));
            self.objects.push(object);
        }
    }

    /// Takes a return up, unless it would open a server that asks its callers.
    pub fn take_return(&mut self, back: Back, live: &DeploymentDetail) {
        if guard::opens(&back, live) {
            self.open_return = Some(back.to);
        } else {
            self.back = Some(back);
        }
    }

    /// Whether the server goes back now, whatever else is asked for.
    pub fn goes_back(&self) -> bool {
        self.back.as_ref().is_some_and(|back| back.template.is_some() && !back.is_superseded)
    }

    /// A return gives way to what is asked for by now, unless that has to wait for its preflight or its turn.
    pub fn settle_return(&mut self) {
        let waits =
            self.preflight.as_ref().is_some_and(Preflight::holds) || self.turn.waiting().is_some();
        self.back.take_if(|back| back.is_superseded && !waits);
    }

    /// The resource's own object of the same kind and name.
    pub fn counterpart(&self, planned: &PlannedObject) -> Option<&LiveObject> {
        self.objects.iter().find(|live| live.is_named(planned.kind, &planned.name))
    }
}

impl<'a> Rollout<'a> {
    /// What comes of the copies of the start programs before all else.
    pub(super) fn take_copies(
        &mut self,
        resource: &Resource,
        Copies { tampered, missing, lost }: Copies,
        running: &'a ClusterState,
    ) {
        self.decisions.extend(tampered.into_iter().map(Decision::refused));
        self.decisions.extend(missing.into_iter().map(|copy| {
            let live = running.counterpart(&copy);
            Decision::for_object(resource, copy, live)
        }));
        self.lost = lost;
    }

    /// The template and the records of the Deployment; whether the server answers all clients until it has changed.
    fn settle_template(
        &mut self,
        resource: &Resource,
        deployment: &mut PlannedObject,
        image_override: Option<&str>,
        running: &'a ClusterState,
    ) -> bool {
        let live = running.counterpart(deployment).and_then(LiveObject::deployment);
        contention::note_takeover(deployment, live, running.now);
        let wanted = deployment.json["spec"]["template"].clone();
        self.keep_template(resource, deployment, image_override, running);
        self.causes = causes::of_template(deployment, live, self.kept.as_ref());
        if self.only_marks {
            return false;
        }
        let template = &deployment.json["spec"]["template"];
        let is_open = guard::is_open_meanwhile(&wanted, template, live);
        old_pods_first::let_old_pods_go(deployment, live);
        records::note_who_serves(deployment, live);
        records::note_unproven(deployment, live, &resource.status, running.now);
        storage_secrets::record(deployment, &resource.key.name, live, &running.gone);
        wave::note(deployment, live, &running.turn, running.now);
        is_open
    }

    /// Puts the template that stays in the place of the planned one.
    fn keep_template(
        &mut self,
        resource: &Resource,
        planned: &mut PlannedObject,
        image_override: Option<&str>,
        running: &ClusterState,
    ) {
        let live = running.counterpart(planned);
        let detail = live.and_then(LiveObject::deployment);
        records::note_last_good(planned, detail, running.now);
        let open_return = running.open_return.as_ref();
        self.warnings.extend(open_return.map(|back| guard::stays_guarded(&back.to)));
        if self.goes_back(planned, detail, running) {
            return;
        }
        let whole = running.deployment.as_ref().unwrap_or(&Value::Null);
        let is_held = self.preflight.is_some_and(Preflight::holds);
        if self.waiting.is_some() {
            let back = detail.and_then(|detail| detail.rolled_back.as_deref()).map(Return::parse);
            let cause = match back {
                _ if is_held => KeepCause::Preflight,
                Some(back) => KeepCause::RolledBack(back),
                None => KeepCause::WaitingForTurn,
            };
            self.hold(planned, detail, whole, &running.still_read, cause);
            return;
        }
        if !keeps_template(resource, planned, image_override, live) {
            if is_held {
                self.hold(planned, detail, whole, &running.still_read, KeepCause::Preflight);
            }
            return;
        }
        let is_ours = live.is_some_and(|live| live.fingerprint.is_some());
        if is_ours && detail.is_some_and(|detail| !detail.adopted) {
            let found = kept::with_live_template(&planned.json, whole, &running.still_read);
            let never_ran = detail.is_some_and(DeploymentDetail::never_ran);
            if let Some((json, kept)) = found.filter(|(_, kept)| kept.is_none() || !never_ran) {
                planned.json = json;
                self.kept = kept;
            }
            return;
        }
        self.kept = Some(KeptTemplate::of_whole(KeepCause::Adopted, &planned.json, whole));
        planned.json = adopted::mark(&planned.json, &resource.state().unwrap_or_default());
        self.only_marks = true;
    }

    /// Leaves the live template in the place of the planned one until that was checked, or has its turn. Values of
    /// Secrets reach the pods of one that was refused, unless they wait for their turn themselves.
    fn hold(
        &mut self,
        planned: &mut PlannedObject,
        live: Option<&DeploymentDetail>,
        whole: &Value,
        still_read: &Inputs,
        cause: KeepCause,
    ) {
        if let Some(adopted) = live.filter(|live| live.adopted) {
            self.kept = Some(KeptTemplate::of_whole(cause, &planned.json, whole));
            planned.json =
                adopted::mark(&planned.json, adopted.planned_for.as_deref().unwrap_or_default());
            let inputs = &mut planned.json["metadata"]["annotations"][labels::INPUTS];
            *inputs = json!(adopted.inputs.as_deref());
            self.only_marks = true;
            return;
        }
        let gives_values =
            self.waiting.is_none() && self.preflight.is_some_and(Preflight::is_refused);
        let held = kept::until_later(&planned.json, whole, still_read, gives_values, cause);
        if let Some((json, kept)) = held {
            planned.json = json;
            self.kept = Some(kept);
        }
    }

    /// Puts the template of a return in the place of the planned one, if there is to be one.
    pub(super) fn goes_back(
        &mut self,
        planned: &mut PlannedObject,
        live: Option<&DeploymentDetail>,
        running: &ClusterState,
    ) -> bool {
        let Some(back) = &running.back else { return false };
        let why_not = back.why_not();
        let Back { to: back, template, is_superseded, .. } = back;
        let Some(template) = template else {
            self.warnings.extend(why_not);
            let recorded = live.and_then(|live| live.inputs.as_deref()).map(Inputs::parse);
            let inputs = &mut planned.json["metadata"]["annotations"][labels::INPUTS];
            if let Some(now) = inputs.as_str().map(Inputs::parse) {
                let recorded = recorded.unwrap_or_default();
                *inputs = now.with_part_of(template_inputs::ROLLBACK_TO, &recorded).text().into();
            }
            return false;
        };
        let good = live.filter(|live| live.last_good.as_deref() == Some(&back.to));
        let recorded = &planned.json["metadata"]["annotations"];
        let made_from = good.and_then(|live| {
            let (good, current) = (live.last_good_inputs.as_deref(), live.inputs.as_deref());
            kept::good_inputs(good, current, recorded)
        });
        let (template, made_from) = (template.clone(), made_from.as_deref());
        let still_read = &running.still_read;
        let template = kept::with_new_values(template, &mut planned.json, still_read, made_from);
        let needs = kept::needs(&json!({"spec": {"template": template}}));
        let cause = KeepCause::RolledBack(back.clone());
        self.kept = Some(KeptTemplate::of_template(cause, &planned.json, &template, needs));
        planned.json = kept::with_template(&planned.json, template);
        let annotations = &mut planned.json["metadata"]["annotations"];
        annotations[labels::ROLLED_BACK] = back.text().into();
        if let Some(live) = live.filter(|_| *is_superseded) {
            // What is asked for by now is still news once it may be applied.
            let now = annotations[labels::INPUTS].as_str().map(Inputs::parse).unwrap_or_default();
            let recorded = live.inputs.as_deref().map(|inputs| Inputs::parse(inputs).rekeyed(&now));
            annotations[labels::INPUTS] = json!(recorded.map(|inputs| inputs.text()));
            annotations[labels::PLANNED_FOR] = json!(live.planned_for.as_deref());
        }
        true
    }

    /// Whether only pods of the planned template need an object, while another template stays. A Job that
    /// checks it needs its ConfigMaps, too.
    fn is_for_the_next_template(&self, object: &PlannedObject) -> bool {
        let Some(kept) = &self.kept else { return false };
        let is_for_pods = match kept.cause {
            KeepCause::Adopted => false,
            KeepCause::Preflight | KeepCause::WaitingForTurn => object.kind == ObjectKind::Secret,
            KeepCause::Upgrade | KeepCause::RolledBack(_) => object.kind.is_named_by_content(),
        };
        is_for_pods && !kept.needs.contains(&(object.kind, object.name.clone()))
    }

    pub(super) fn deployment(
        &self,
        resource: &Resource,
        object: PlannedObject,
        live: Option<&'a LiveObject>,
        fewest: Option<i32>,
    ) -> Decision<'a> {
        let decision = Decision::for_object(resource, object, live);
        if self.only_marks {
            let action = match decision.action {
                Action::Adopt(live) | Action::Update(live) => Action::Mark(live),
                other => other,
            };
            return Decision { action, ..decision };
        }
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
        running: &ClusterState,
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
        let decision = Decision::for_object(resource, PlannedObject { json, ..object }, live);
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
    fn refused(object: PlannedObject) -> Self {
        Self { object, action: Action::Refuse, beforehand: Beforehand::Nothing }
    }

    /// What to do about an object that follows no rule of its own.
    pub fn for_object(
        resource: &Resource,
        object: PlannedObject,
        live: Option<&'a LiveObject>,
    ) -> Self {
        let action = Action::for_object(&object.json, live, resource.owner());
        Self { object, action, beforehand: Beforehand::Nothing }
    }
}
