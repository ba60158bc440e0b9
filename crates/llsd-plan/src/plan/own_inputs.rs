//! The inputs of a resource's pod template that are its own. The operator's image, its table of images,
//! its start program and its defaults are not among them.

use llsd_api::v1alpha2::LlamaStackDistributionSpec;

use super::secret_check::SecretUse;
use super::user_variables;
use crate::facts::{ConfigMapFacts, Facts};
use crate::resource::Resource;
use crate::resource::image::RequestedImage;
use crate::resource::template_inputs::{self, Inputs};

/// What the record on the Deployment says of the resource as it is now.
pub(super) fn own_inputs(
    resource: &Resource,
    spec: &LlamaStackDistributionSpec,
    image: &RequestedImage,
    references: &[SecretUse],
    ca_bundle: Option<&str>,
    facts: &Facts,
) -> Inputs {
    let mut inputs = resource.inputs();
    if let Some(key) = &facts.hash_key {
        inputs.set(template_inputs::KEY, Some(key));
    }
    inputs.set(template_inputs::IMAGE, image.image_override());
    let config = spec.override_config.as_ref().map(|own| own.config_map_name.as_str());
    let config = config.and_then(|name| facts.config_maps.get(name));
    inputs.set(template_inputs::CONFIG, config.map(text).as_deref());
    inputs.set(template_inputs::VARIABLES, user_variables::hash(spec, facts).as_deref());
    for (object, hash) in user_variables::hash_by_object(spec, facts) {
        inputs.set_variables_of(&object, hash.as_deref());
    }
    inputs.set(template_inputs::CA_BUNDLE, ca_bundle);
    for reference in references {
        let (name, key) = (&reference.secret.name, &reference.secret.key);
        if let Some(known) = facts.secrets.get(name).and_then(|secret| secret.keys.get(key)) {
            inputs.set_secret(name, key, &known.hash);
        }
    }
    inputs
}

fn text(config: &ConfigMapFacts) -> String {
    serde_json::to_string(&(&config.data, &config.binary_data)).unwrap_or_default()
}
