//! Asks the API server what would become of owned objects, with dry runs, and changes nothing. For
//! `llsd diff`.

use llsd_plan::live::LiveObject;
use llsd_plan::objects::{ObjectKind, PlannedObject};
use llsd_plan::resource::Resource;
use llsd_plan::rollout::{Refused, WriteFailure};
use serde_json::Value;

use super::object_requests::ObjectRequests;
use super::{Creation, ObjectVersion, Writer};
use crate::operator::controller::context::Context;

/// One object that would change.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub kind: &'static str,
    pub name: String,
    /// As it is; none where it would be created.
    pub before: Option<Value>,
    /// As it would be; none where it would be deleted.
    pub after: Option<Value>,
}

/// Notes what would be written for one resource.
pub struct DryRunWriter<'a> {
    requests: ObjectRequests<'a>,
    pub changes: Vec<Change>,
    /// What stands in the way of a write, as the API server or the operator would say.
    pub refusals: Vec<String>,
    /// What the object that is updated next would lose or get before that.
    before_update: BeforeUpdate,
}

#[derive(Default)]
enum BeforeUpdate {
    #[default]
    Nothing,
    Pods(i32),
    Disown(String),
}

impl<'a> DryRunWriter<'a> {
    pub fn new(context: &'a Context, resource: &'a Resource) -> Self {
        Self {
            requests: ObjectRequests::dry_run(context, resource),
            changes: Vec::new(),
            refusals: Vec::new(),
            before_update: BeforeUpdate::Nothing,
        }
    }

    fn note(
        &mut self,
        (kind, name): (ObjectKind, &str),
        before: Option<Value>,
        after: Option<Value>,
    ) {
        self.changes.push(Change { kind: kind.name(), name: name.to_owned(), before, after });
    }
}

impl BeforeUpdate {
    fn apply_to(self, object: &mut Value) {
        match self {
            Self::Nothing => {}
            Self::Pods(number) => object["spec"]["replicas"] = number.into(),
            Self::Disown(owner) => {
                // Already gone where only the operator had put it there.
                if let Some(Value::Object(metadata)) = object.get_mut("metadata")
                    && let Some(Value::Array(owners)) = metadata.get_mut("ownerReferences")
                {
                    owners.retain(|other| other["uid"] != *owner);
                    if owners.is_empty() {
                        metadata.shift_remove("ownerReferences");
                    }
                }
            }
        }
    }
}

impl Writer for DryRunWriter<'_> {
    async fn create(&mut self, desired: &PlannedObject) -> Result<Creation, WriteFailure> {
        let answer = match self.requests.create(desired).await? {
            Ok(answer) => answer,
            Err(found) => return Ok(Creation::Exists(found)),
        };
        self.note((desired.kind, &desired.name), None, Some(answer.json));
        Ok(Creation::Made(None))
    }

    async fn update(
        &mut self,
        desired: &PlannedObject,
        live: &LiveObject,
    ) -> Result<Option<LiveObject>, WriteFailure> {
        let before_update = std::mem::take(&mut self.before_update);
        let before = self.requests.fetch(live.kind, &live.name).await?;
        let mut after = self.requests.update(desired, live).await?.json;
        before_update.apply_to(&mut after);
        self.note((live.kind, &live.name), before, Some(after));
        Ok(None)
    }

    async fn take_over(&mut self, live: &LiveObject) -> Result<ObjectVersion, WriteFailure> {
        Ok(live.version)
    }

    async fn disown(
        &mut self,
        live: &LiveObject,
        owner: &str,
    ) -> Result<ObjectVersion, WriteFailure> {
        self.before_update = BeforeUpdate::Disown(owner.to_owned());
        Ok(live.version)
    }

    async fn leave_pods(&mut self, live: &LiveObject, number: i32) -> ObjectVersion {
        self.before_update = BeforeUpdate::Pods(number);
        live.version
    }

    async fn wake_pods(
        &mut self,
        live: &LiveObject,
        number: i32,
    ) -> Result<ObjectVersion, WriteFailure> {
        self.before_update = BeforeUpdate::Pods(number);
        Ok(live.version)
    }

    async fn delete(&mut self, kind: ObjectKind, name: &str, _: &str) -> kube::Result<()> {
        let before = self.requests.api(kind).get_opt(name).await?.map(|live| live.json);
        self.note((kind, name), before, None);
        Ok(())
    }

    /// Says it, and goes on: the others are of interest, too.
    fn blocked(&mut self, failure: WriteFailure) -> Result<(), WriteFailure> {
        let WriteFailure { object, message, refused } = failure;
        self.refusals.push(match refused {
            Refused::NotOurs => format!("{object} belongs to somebody else"),
            Refused::OtherContent
            | Refused::Invalid
            | Refused::Denied
            | Refused::Forbidden
            | Refused::Unavailable => format!("{object}: {message}"),
        });
        Ok(())
    }
}
