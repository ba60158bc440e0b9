//! What registries say of the images that resources name, for commands that have no cluster: the servers' own
//! images, and those of external providers.

use llsd_api::conversion::{Version, convert};
use llsd_offline::Input;
use llsd_plan::facts::{ExternalProviderFacts, Facts, ImageFacts};
use llsd_plan::plan::references;
use llsd_plan::resource::spec_of;
use llsd_registry::{Image, Reference, Wanted};

use super::registry_access::{Access, Connection, Failure, Remarks};
use super::runtime::runtime;
use super::{Printout, waiting};
use crate::provider_image::{WANTED, provided};
use crate::server_image::inspected;

/// Adds what the facts do not say yet of the images that the resources name.
pub(super) fn ask(input: &mut Input, connection: &Connection) -> Result<(), Printout> {
    let Some(facts) = &input.facts else { return Ok(()) };
    let of_servers: Vec<String> = if is_described(facts) {
        Vec::new()
    } else {
        input.requested_images().into_iter().collect()
    };
    let of_providers = provider_images(input, facts);
    if of_servers.is_empty() && of_providers.is_empty() {
        return Ok(());
    }
    let failed = |failure: Failure| Printout::usage(failure.text().trim_end());
    let mut remarks = Remarks::default();
    let access = Access::new(connection, &mut remarks).map_err(failed)?;
    let runtime = runtime().map_err(|message| Printout::usage(&message))?;
    let stated = facts.image.release.clone();
    let work = async {
        for image in of_servers {
            let mut found = server(&access, &image).await;
            found.release = stated.clone().or(found.release);
            input.images.insert(image, found);
        }
        let Some(facts) = &mut input.facts else { return };
        for image in of_providers {
            let found = provider(&access, &image).await;
            facts.external_providers.insert(image, found);
        }
    };
    runtime.block_on(waiting::for_work("asking the registry", work));
    Ok(())
}

/// Whether files say what the image is. A release alone does not.
fn is_described(facts: &Facts) -> bool {
    ImageFacts { release: None, ..facts.image.clone() } != ImageFacts::default()
}

/// The images of external providers of which the facts say nothing.
fn provider_images(input: &Input, facts: &Facts) -> Vec<String> {
    let objects = input.resources.iter().map(|it| convert(it.to_json(), Version::V1Alpha2));
    let specs = objects.filter_map(|object| spec_of(&object));
    let images = specs.flat_map(|spec| references::references(&spec, "").provider_images);
    let unknown = images.filter(|image| !facts.external_providers.contains_key(image));
    let unknown: std::collections::BTreeSet<String> = unknown.collect();
    unknown.into_iter().collect()
}

async fn server(access: &Access, image: &str) -> ImageFacts {
    match look_up(access, image, Wanted::Base).await {
        Ok(found) => inspected(&found),
        Err(NotRead::NoReference(why) | NotRead::NoAnswer(why)) => {
            ImageFacts { unavailable: Some(why), ..ImageFacts::default() }
        }
    }
}

async fn provider(access: &Access, image: &str) -> ExternalProviderFacts {
    let nothing = ExternalProviderFacts::default();
    match look_up(access, image, WANTED).await {
        Ok(found) => provided(&found),
        Err(NotRead::NoReference(why)) => ExternalProviderFacts { unusable: Some(why), ..nothing },
        Err(NotRead::NoAnswer(why)) => ExternalProviderFacts { unavailable: Some(why), ..nothing },
    }
}

/// Why nothing is known of an image.
enum NotRead {
    NoReference(String),
    NoAnswer(String),
}

async fn look_up(
    access: &Access,
    image: &str,
    wanted: Wanted,
) -> Result<std::sync::Arc<Image>, NotRead> {
    let reference = image.parse::<Reference>();
    let reference = reference.map_err(|error| NotRead::NoReference(error.to_string()))?;
    let mut remarks = Remarks::default();
    let found = Box::pin(access.find(&reference, wanted, &mut remarks)).await;
    found.map_err(|error| {
        let why = format!("{error} {}", remarks.text().trim());
        NotRead::NoAnswer(why.trim().to_owned())
    })
}
