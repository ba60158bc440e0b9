//! The ConfigMap with the certificate authorities that the server trusts beside the image's own.
//! [`crate::objects::certificates`] puts them together.

use k8s_openapi::api::core::v1::ConfigMap;

use super::{Blueprint, labels, names, owner};
use crate::paths::CA_BUNDLE_KEY;

pub(super) fn ca_bundle(blueprint: &Blueprint) -> Option<ConfigMap> {
    let text = blueprint.ca_bundle.as_ref()?;
    let mut metadata = owner::owned(blueprint, names::ca_bundle(blueprint.name));
    metadata.labels = Some(labels::of_component(blueprint.name, "ca-bundle"));
    Some(ConfigMap {
        metadata,
        data: Some([(CA_BUNDLE_KEY.into(), text.clone())].into()),
        ..Default::default()
    })
}
