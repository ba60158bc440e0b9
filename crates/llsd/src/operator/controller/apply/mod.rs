//! Brings the cluster to the plan: each object in its order, written only where it differs. The first
//! that cannot be written stops the rest, so a Deployment never refers to what is not there.

mod adopted;
mod claim;
mod step;
mod write;

use llsd_plan::objects::{PlannedObject, labels};
use llsd_plan::plan::{Plan, state_of};
use llsd_plan::status::{Applied, Refused};
use serde_json::Value;

use super::Context;
use super::cache::Child;
use super::key::Key;
use llsd_plan::objects::ObjectKind;
use step::{Step, decide};
use write::{Made, Writer, name};

pub use adopted::mark as adopted_mark;
pub use write::Failed;

/// One resource whose objects are applied.
struct Application<'a> {
    writer: Writer<'a>,
    resource: &'a Value,
    owner: &'a str,
    children: &'a [Child],
    applied: Applied,
}

/// Applies every planned object that is not in the cluster as planned.
pub async fn apply(
    context: &Context,
    key: &Key,
    resource: &Value,
    plan: &Plan,
    children: &[Child],
) -> Result<Applied, Failed> {
    let mut application = Application::new(context, key, resource, children);
    for object in plan.objects.in_order() {
        application.object(object).await?;
    }
    Ok(application.applied)
}

/// Applies one object before all others can be planned.
pub async fn first(
    context: &Context,
    key: &Key,
    resource: &Value,
    object: PlannedObject,
    children: &[Child],
) -> Result<(), Failed> {
    Application::new(context, key, resource, children).object(object).await
}

impl<'a> Application<'a> {
    fn new(context: &'a Context, key: &'a Key, resource: &'a Value, children: &'a [Child]) -> Self {
        Self {
            writer: Writer { client: &context.client, cache: &context.cache, key },
            resource,
            owner: resource["metadata"]["uid"].as_str().unwrap_or_default(),
            children,
            applied: Applied::default(),
        }
    }

    async fn object(&mut self, object: PlannedObject) -> Result<(), Failed> {
        let PlannedObject { kind, name, json: desired } = object;
        let known = self.children.iter().find(|child| child.is_named(kind, &name));
        // Secrets are not watched, so this one is looked at each time.
        let read = match kind {
            ObjectKind::Secret => self.writer.read(kind, &name).await?,
            _ => None,
        };
        let live = match &read {
            Some(live) => Some(self.own(kind, live)?),
            None => known.cloned(),
        };
        match kind {
            ObjectKind::Deployment => self.deployment(desired, live).await,
            ObjectKind::VolumeClaim => self.claim(desired, live).await,
            _ => self.plain(kind, &desired, live.as_ref()).await,
        }
    }

    async fn plain(
        &mut self,
        kind: ObjectKind,
        desired: &Value,
        live: Option<&Child>,
    ) -> Result<(), Failed> {
        match decide(desired, live, self.owner) {
            Step::Nothing => return Ok(()),
            Step::Create => {
                if let Made::Exists(live) = self.writer.create(kind, desired).await? {
                    let live = self.own(kind, &live)?;
                    return Box::pin(self.plain(kind, desired, Some(&live))).await;
                }
            }
            Step::Update => self.writer.update(desired, known(live)).await?,
            Step::Adopt => {
                self.writer.take_over(known(live)).await?;
                self.writer.update(desired, known(live)).await?;
            }
            Step::Wait => {
                return Err(failed(kind, desired, "is being deleted", Refused::Unavailable));
            }
            Step::NotOurs => return Err(not_ours(kind, desired)),
        }
        self.applied.written.push(format!("{} {}", kind.name(), name(desired)));
        Ok(())
    }

    async fn claim(&mut self, desired: Value, live: Option<Child>) -> Result<(), Failed> {
        let kind = ObjectKind::VolumeClaim;
        let runs = self.children.iter().any(|child| child.kind == ObjectKind::Deployment);
        if let Some(remark) = live.as_ref().filter(|_| runs).and_then(claim::going) {
            self.applied.warnings.push(remark);
            return Ok(());
        }
        let (desired, shrinking) = claim::without_shrinking(desired, live.as_ref());
        self.applied.warnings.extend(shrinking);
        let Err(failed) = self.plain(kind, &desired, live.as_ref()).await else { return Ok(()) };
        let remark = claim::not_growing(live.as_ref(), &desired, &failed).ok_or(failed)?;
        self.applied.warnings.push(remark);
        // What else there is to say of it does not wait: whose it is above all, as a claim that
        // v0.9's reference still binds to the resource would be deleted with it.
        let desired = claim::with_its_size(desired, live.as_ref());
        self.plain(kind, &desired, live.as_ref()).await
    }

    async fn deployment(&mut self, desired: Value, live: Option<Child>) -> Result<(), Failed> {
        let kind = ObjectKind::Deployment;
        let step = decide(&desired, live.as_ref(), self.owner);
        let Some(child) = live.filter(|_| matches!(step, Step::Adopt | Step::Update)) else {
            return self.plain(kind, &desired, self.known(kind, name(&desired))).await;
        };
        let detail = child.deployment().cloned().unwrap_or_default();
        let state = state_of(self.resource).unwrap_or_default();
        let same_state = detail.planned_for.as_deref() == Some(state.as_str());
        if step == Step::Adopt || (detail.adopted && same_state) {
            let mark = adopted::mark(&desired, self.resource);
            if decide(&mark, Some(&child), self.owner) != Step::Nothing {
                self.writer.update(&mark, &child).await?;
            }
            let live = self.writer.read(kind, &child.name).await?.unwrap_or_default();
            self.applied.waiting = adopted::waiting(&desired, &live);
            return Ok(());
        }
        if detail.adopted {
            self.writer.take_over(&child).await?;
        }
        if desired["spec"].get("replicas").is_none() && detail.state.wanted != 1 {
            self.writer.leave_replicas(&child, detail.state.wanted).await;
        }
        self.writer.update(&desired, &child).await?;
        self.applied.written.push(format!("{} {}", kind.name(), child.name));
        Ok(())
    }

    fn own(&self, kind: ObjectKind, live: &Value) -> Result<Child, Failed> {
        let own = ours(kind, live, self.writer.key, self.owner);
        own.ok_or_else(|| not_ours(kind, live))
    }

    fn known(&self, kind: ObjectKind, name: &str) -> Option<&'a Child> {
        self.children.iter().find(|child| child.is_named(kind, name))
    }
}

/// What is known of an object that the watch has not shown, if it is the resource's own: of `key`,
/// whose uid is `owner`.
pub fn ours(kind: ObjectKind, live: &Value, key: &Key, owner: &str) -> Option<Child> {
    let (named, child) = Child::read(kind, live)?;
    let labelled = live["metadata"]["labels"][labels::MANAGED_BY] == labels::OPERATOR;
    // Somebody may have taken the label away, and with it the object out of the watch. Of a Secret
    // the label is the only proof that the operator's own policy accepts.
    let controlled = child.controller.as_deref() == Some(owner);
    let proven = kind != ObjectKind::Secret && (controlled || child.fingerprint.is_some());
    (named == *key && (labelled || proven)).then_some(child)
}

fn not_ours(kind: ObjectKind, object: &Value) -> Failed {
    let message = "exists and is not this resource's; it is left alone. Delete or rename it, or \
                   give the resource another name";
    failed(kind, object, message, Refused::NotOurs)
}

fn failed(kind: ObjectKind, object: &Value, message: &str, refused: Refused) -> Failed {
    let object = format!("{} {}", kind.name(), name(object));
    Failed { object, message: message.to_owned(), refused }
}

/// Whether applying an object would write anything.
pub fn would_change(desired: &Value, live: Option<&Child>, owner: &str) -> bool {
    decide(desired, live, owner) != Step::Nothing
}

fn known(live: Option<&Child>) -> &Child {
    live.expect("only an object that is there is changed")
}
