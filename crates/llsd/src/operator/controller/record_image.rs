//! Keeps what a registry said of the images that a resource runs, in a ConfigMap beside the resource.

use std::sync::Arc;

use llsd_plan::facts::Facts;
use llsd_plan::live::LiveObject;
use llsd_plan::objects::image_record::{self, ImageRecord};
use llsd_plan::resource::Resource;
use llsd_plan::rollout::retention::is_image_record;
use llsd_plan::rollout::{self, ClusterState};

use super::context::Context;
use super::state::safe_message;
use super::steps::apply;
use super::steps::writer::{ClusterWriter, Writer};

/// Keeps what a registry said of the image that the resource runs now, and nothing of earlier ones. Where
/// that is refused everything else goes on; only a later change needs the registry then.
pub async fn keep(context: &Context, resource: &Resource, facts: &Facts, state: &ClusterState) {
    let key = &resource.key;
    let providers = facts.external_providers.values();
    let Some(record) = ImageRecord::from_facts(&facts.image, providers) else { return };
    let Some(text) = record.text() else {
        tracing::debug!(resource = %key, "the configuration of the image is too large to be kept");
        return;
    };
    let hash = context.secrets.keyed_hash(text.as_bytes());
    let planned = image_record::object(resource, &text, &hash);
    let mut writer = ClusterWriter::new(context, resource);
    let records = state.objects.iter().filter(|live| is_image_record(live, resource));
    let (forged, own): (Vec<LiveObject>, Vec<LiveObject>) =
        records.cloned().partition(|record| context.image_records.is_forged(record));
    for record in &forged {
        delete(&mut writer, resource, record).await;
    }
    let known = ClusterState::of_objects(own);
    let rollout = rollout::decide(resource, planned.into_iter().collect(), None, &known);
    if let Err(failure) = apply::carry_out(&mut writer, resource, &rollout).await.result {
        if context.memory.set_record_kept(key, false) {
            let (object, why) = (failure.object, failure.message);
            tracing::warn!(resource = %key, object, why, "what was read of images is not kept");
        }
        return;
    }
    context.memory.set_record_kept(key, true);
    context.image_records.insert(&hash, Arc::new(record), text.len());
    let current = image_record::name(&key.name, &hash);
    for record in known.objects.iter().filter(|live| *live.name != *current) {
        delete(&mut writer, resource, record).await;
    }
}

/// Deletes a record. Where that fails it goes with the resource.
async fn delete(writer: &mut ClusterWriter<'_>, resource: &Resource, record: &LiveObject) {
    if let Err(error) = writer.delete(record.kind, &record.name, &record.uid).await {
        let (key, error) = (&resource.key, safe_message(&error));
        tracing::debug!(resource = %key, object = %record.name, error, "not deleted");
    }
}
