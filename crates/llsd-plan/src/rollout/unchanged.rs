//! Whether the resource's own inputs are those that its Deployment was made from.

use serde_json::Value;

use crate::live::{DeploymentDetail, read_part};
use crate::objects::labels;
use crate::resource::Resource;
use crate::resource::template_inputs::{Inputs, is_read_at_start};

/// `planned` are the annotations of the planned Deployment.
pub(super) fn has_its_inputs(
    resource: &Resource,
    planned: &Value,
    image_override: Option<&str>,
    deployment: &DeploymentDetail,
) -> bool {
    // Of an adopted Deployment nothing but its metadata is ours, so any change of the spec takes it over:
    // also another number of pods.
    if deployment.adopted && !deployment.is_for(resource) {
        return false;
    }
    if let Some(recorded) = &deployment.inputs {
        let now = planned[labels::INPUTS].as_str().map(Inputs::parse).unwrap_or_default();
        let recorded = Inputs::parse(recorded);
        // A template of before is left by what its own pods do not read; for the rest they are restarted.
        let stays = |part: &str| {
            deployment.rolled_back.is_some()
                && is_read_at_start(part)
                && read_part(&deployment.reads, part)
        };
        return now.changes(&recorded).all(stays);
    }
    // Operators before there was such a record left the state of the resource and hashes.
    let agrees = |name: &str, live: &Option<Box<str>>| {
        planned[name].as_str().zip(live.as_deref()).is_none_or(|(now, then)| now == then)
    };
    deployment.is_for(resource)
        && agrees(labels::SECRET_HASH, &deployment.hashes.secrets)
        && agrees(labels::USER_CONFIG_HASH, &deployment.hashes.user_config)
        && agrees(labels::CA_BUNDLE_HASH, &deployment.hashes.ca_bundle)
        && !(deployment.adopted && is_overridden_since(deployment, image_override))
}

/// Whether the override of the distribution's image is another one than at the adoption. v0.9 obeyed
/// the same ConfigMap, so an override that its Deployment runs is not new.
fn is_overridden_since(deployment: &DeploymentDetail, now: Option<&str>) -> bool {
    let then = deployment.adopted_override.as_deref();
    then != now && (then.is_some() || deployment.state.image.as_deref() != now)
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
