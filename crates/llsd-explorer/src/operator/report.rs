//! Observes and reports: the status of the resource.

use std::collections::BTreeMap;
use std::rc::Rc;

use k8s_openapi::jiff::Timestamp;
use llsd_plan::objects::ObjectKind;
use llsd_plan::resource::Resource;
use llsd_plan::rollout::Return;
use llsd_plan::status::{self, ObservedObjects, Pass, ServerAnswer, StatusInputs, TagNow};

use crate::world::World;

/// Writes the status, if it is another one.
pub fn report(world: &mut World, resource: &Resource, pass: Pass<'_>) {
    let deployment = world.object(ObjectKind::Deployment);
    let detail = deployment.and_then(|stored| stored.live.deployment());
    let rolled_back = detail.and_then(|detail| detail.rolled_back.as_deref());
    let live = ObservedObjects {
        deployment: detail.map(|detail| detail.state.clone()),
        rolled_back: rolled_back.map(Return::parse),
        service: world.object(ObjectKind::Service).is_some(),
        ..ObservedObjects::default()
    };
    let update = status::compute(&StatusInputs {
        resource,
        now: Timestamp::from_second(world.now).unwrap_or_default(),
        operator_version: "0",
        distributions: &BTreeMap::new(),
        pass,
        live: &live,
        server: &ServerAnswer::NotAsked,
        tag: &TagNow::Unmoved,
        limitations: &[],
    });
    let status = serde_json::to_value(&update.status).unwrap_or_default();
    if *world.status != status {
        world.status = Rc::new(status);
        world.revision += 1;
    }
}
