//! What a server's image says of itself, read out of a registry: its digest, its release and the base
//! configuration in its labels.

use llsd_plan::facts::{BaseFacts, BaseSource, ImageFacts};
use llsd_registry::{Image, Source};

/// What was found there.
pub fn inspected(image: &Image) -> ImageFacts {
    let mut facts = ImageFacts {
        digest: Some(image.digest.to_string()),
        release: image.release(),
        variables: Some(image.variables.clone()),
        inspected: true,
        differing_platforms: image.differing_platforms.clone(),
        ..ImageFacts::default()
    };
    match &image.base {
        Ok(base) => {
            facts.base = base.as_ref().map(|base| BaseFacts {
                text: base.text.clone(),
                source: match base.source {
                    Source::Labels => BaseSource::Labels,
                    Source::Layer => BaseSource::Layer,
                },
                found_in: Some(base.label.clone()),
            });
        }
        Err(error) => {
            facts.unavailable = Some(error.to_string());
            facts.carries_base = true;
        }
    }
    facts
}
