//! Reads back what was read of an image before, when the operator starts: what runs then needs no
//! registry.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use llsd_plan::facts::{ExternalProviderFacts, ImageFacts};
use llsd_plan::live::LiveObject;
use llsd_plan::objects::image_record::{IMAGES_KEY, ImageRecord};
use llsd_plan::resource::Resource;
use llsd_plan::rollout::retention::is_image_record;

use crate::operator::controller::context::Context;
use crate::operator::controller::state::safe_message;

/// What was read of the image with this digest for this resource, if that was kept.
pub async fn recorded(
    context: &Context,
    resource: &Resource,
    live: &[LiveObject],
    digest: &str,
) -> Option<ImageFacts> {
    find(context, resource, live, |record| record.facts(digest)).await
}

/// The same of an external provider's image.
pub async fn recorded_provider(
    context: &Context,
    resource: &Resource,
    live: &[LiveObject],
    digest: &str,
) -> Option<ExternalProviderFacts> {
    find(context, resource, live, |record| record.provider(digest)).await
}

async fn find<T>(
    context: &Context,
    resource: &Resource,
    live: &[LiveObject],
    pick: impl Fn(&ImageRecord) -> Option<T>,
) -> Option<T> {
    for object in live.iter().filter(|object| is_image_record(object, resource)) {
        let Some(hash) = object.content_hash() else { continue };
        let record = match context.image_records.get(hash) {
            Some(known) => Some(known),
            None if context.image_records.is_forged(object) => None,
            None => fetch(context, resource, object, hash).await,
        };
        if let Some(facts) = record.and_then(|record| pick(&record)) {
            return Some(facts);
        }
    }
    None
}

/// Reads a record, and believes it only under the operator's own hash.
async fn fetch(
    context: &Context,
    resource: &Resource,
    object: &LiveObject,
    hash: &str,
) -> Option<Arc<ImageRecord>> {
    let (key, name) = (&resource.key, &*object.name);
    let config_maps: Api<ConfigMap> = Api::namespaced(context.client.clone(), &key.namespace);
    let found = match config_maps.get_opt(name).await {
        Ok(found) => found?,
        Err(error) => {
            tracing::debug!(resource = %key, name, error = safe_message(&error), "not read");
            return None;
        }
    };
    let text = found.data.and_then(|mut data| data.remove(IMAGES_KEY)).unwrap_or_default();
    let is_ours = context.secrets.keyed_hash(text.as_bytes()) == hash;
    let Some(record) = ImageRecord::parse(&text).filter(|_| is_ours).map(Arc::new) else {
        tracing::warn!(resource = %key, name, "what was read of images is not as it was kept");
        context.image_records.set_forged(&object.uid);
        return None;
    };
    context.image_records.insert(hash, Arc::clone(&record), text.len());
    Some(record)
}
