//! Keeps what a registry said of the images that a resource runs, in a ConfigMap beside the resource.

use std::sync::Arc;

use llsd_plan::facts::Facts;
use llsd_plan::objects::image_record::{self, ImageRecord};
use llsd_plan::resource::Resource;
use llsd_plan::rollout::retention::is_image_record;
use llsd_plan::rollout::{self, ClusterState};

use crate::operator::controller::context::Context;
use crate::operator::controller::steps::apply;
use crate::operator::controller::steps::prune;

/// Keeps what a registry said of the image that the resource runs now, and nothing of earlier ones. Where
/// that is refused everything else goes on; only a later change needs the registry then.
pub async fn keep(context: &Context, resource: &Resource, facts: &Facts) {
    let key = &resource.key;
    let providers = facts.external_providers.values();
    let Some(record) = ImageRecord::from_facts(&facts.image, providers) else { return };
    let Some(text) = record.text() else {
        tracing::debug!(resource = %key, "the configuration of the image is too large to be kept");
        return;
    };
    let hash = context.secrets.keyed_hash(text.as_bytes());
    let planned = image_record::object(resource, &text, &hash);
    for forged in context.cache.live(key).iter().filter(|live| is_image_record(live, resource)) {
        if context.image_records.is_forged(forged) {
            prune::delete_owned(context, key, forged).await;
        }
    }
    let running = ClusterState { objects: context.cache.live(key), ..ClusterState::default() };
    let rollout = rollout::decide(resource, planned.into_iter().collect(), None, &running);
    if let Err(failure) = apply::apply(context, resource, None, &rollout).await {
        if context.memory.set_record_kept(key, false) {
            let (object, why) = (failure.object, failure.message);
            tracing::warn!(resource = %key, object, why, "what was read of images is not kept");
        }
        return;
    }
    context.memory.set_record_kept(key, true);
    context.image_records.insert(&hash, Arc::new(record), text.len());
    let current = image_record::name(&key.name, &hash);
    let earlier = running.objects.iter().filter(|live| is_image_record(live, resource));
    for record in earlier.filter(|live| *live.name != *current) {
        prune::delete_owned(context, key, record).await;
    }
}
