//! What registries say of the images of external providers, for commands that have no cluster.

use llsd_offline::Input;
use llsd_plan::facts::ExternalProviderFacts;
use llsd_plan::plan::references;
use llsd_plan::resource::Resource;
use llsd_registry::Reference;

use super::registry_access::{Access, Connection, Failure, Remarks};
use super::runtime::runtime;
use super::{Printout, waiting};
use crate::provider_image::{WANTED, provided};

/// Adds to the facts what they do not say yet of the images that the resources name.
pub(super) fn ask(input: &mut Input, connection: &Connection) -> Result<(), Printout> {
    let Some(facts) = &mut input.facts else { return Ok(()) };
    let specs = input.resources.iter().filter_map(|it| Resource::parse(&it.to_json()).spec);
    let images = specs.flat_map(|spec| references::references(&spec, "").provider_images);
    let unknown = images.filter(|image| !facts.external_providers.contains_key(image));
    let unknown: std::collections::BTreeSet<String> = unknown.collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let failed = |failure: Failure| Printout::usage(failure.text().trim_end());
    let mut remarks = Remarks::default();
    let access = Access::new(connection, &mut remarks).map_err(failed)?;
    let runtime = runtime().map_err(|message| Printout::usage(&message))?;
    let work = async {
        for image in unknown {
            let found = said(&access, &image).await;
            facts.external_providers.insert(image, found);
        }
    };
    runtime.block_on(waiting::for_work("asking the registry", work));
    Ok(())
}

async fn said(access: &Access, image: &str) -> ExternalProviderFacts {
    let reference = match image.parse::<Reference>() {
        Ok(reference) => reference,
        Err(error) => {
            let unusable = Some(error.to_string());
            return ExternalProviderFacts { unusable, ..ExternalProviderFacts::default() };
        }
    };
    let mut remarks = Remarks::default();
    match Box::pin(access.find(&reference, WANTED, &mut remarks)).await {
        Ok(found) => provided(&found),
        Err(error) => {
            let why = format!("{error} {}", remarks.text().trim());
            let unavailable = Some(why.trim().to_owned());
            ExternalProviderFacts { unavailable, ..ExternalProviderFacts::default() }
        }
    }
}
