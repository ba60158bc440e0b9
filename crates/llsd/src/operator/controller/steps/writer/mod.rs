//! How owned objects are written. A reconcile writes them ([`ClusterWriter`]); `llsd diff` only asks the API
//! server what would become of them ([`DryRunWriter`]). Everything before a write is the same for both.

mod cluster;
mod dry_run;
mod object_requests;

use llsd_plan::live::LiveObject;
use llsd_plan::objects::{ObjectKind, PlannedObject};
use llsd_plan::rollout::WriteFailure;
use serde_json::Value;

pub use cluster::ClusterWriter;
pub use dry_run::{Change, DryRunWriter};
pub use object_requests::ObjectRequests;

/// What became of an attempt to create an object.
#[derive(Debug)]
pub enum Creation {
    /// The new object, where there is one.
    Made(Option<LiveObject>),
    /// There is one of that name, which the watch has not shown.
    Exists(Box<Value>),
}

/// The version of an object that the operator prepares for an update. What prepares it is written only to the
/// version that was looked at, and the update then only to this one.
pub type ObjectVersion = u64;

/// Writes the objects of one resource.
pub trait Writer {
    /// Creates the object, unless there is one of its name.
    async fn create(&mut self, desired: &PlannedObject) -> Result<Creation, WriteFailure>;

    /// Changes the object that was looked at, and no other that has its name by now. The object as it is
    /// then, where it was changed.
    async fn update(
        &mut self,
        desired: &PlannedObject,
        live: &LiveObject,
    ) -> Result<Option<LiveObject>, WriteFailure>;

    /// Gives the fields of an earlier operator's managers to ours. What we then do not apply goes.
    async fn take_over(&mut self, live: &LiveObject) -> Result<ObjectVersion, WriteFailure>;

    /// Takes the owner with this uid off the object, no matter which manager put it there.
    async fn disown(
        &mut self,
        live: &LiveObject,
        owner: &str,
    ) -> Result<ObjectVersion, WriteFailure>;

    /// Leaves the number of pods as it is when we stop applying it: without an owner the field would
    /// go, and the API server would put 1 in its place.
    async fn leave_pods(&mut self, live: &LiveObject, number: i32) -> ObjectVersion;

    /// Sets the number of pods from which an autoscaler goes on, also where it is zero now.
    async fn wake_pods(
        &mut self,
        live: &LiveObject,
        number: i32,
    ) -> Result<ObjectVersion, WriteFailure>;

    /// Deletes this very object; one that is gone already is fine.
    async fn delete(&mut self, kind: ObjectKind, name: &str, uid: &str) -> kube::Result<()>;

    /// Takes note of an object that cannot be written; an error stops the objects after it.
    fn blocked(&mut self, failure: WriteFailure) -> Result<(), WriteFailure>;
}
