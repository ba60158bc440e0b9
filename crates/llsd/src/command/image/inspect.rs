//! `llsd image inspect`: what an image in a registry says about its configuration, and what the
//! operator would use.

use clap::{Args, ValueEnum};
use llsd_api::v1alpha2::DistributionSpec;
use llsd_plan::facts::{BaseFacts, BaseSource, ImageFacts, OperatorFacts};
use llsd_plan::problems::Findings;
use llsd_plan::releases::release_of;
use llsd_plan::resource::image::resolve;
use llsd_registry::{Image, Reference, Source};

use super::inspection::{FoundConfiguration, Inspection, Platform, Problem, label};
use super::usable::assess;
use crate::command::Exit;
use crate::command::registry_access::{Access, Connection, Failure, Opened, Remarks};

/// Show an image's configuration labels, and what the operator would use
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The image: `host/repository:tag`, `@digest`, or both
    #[arg(value_name = "REF")]
    image: Reference,

    /// How to print it
    #[arg(short, long, value_enum, default_value_t = InspectionFormat::Text, value_name = "FORMAT")]
    output: InspectionFormat,

    #[command(flatten)]
    connection: Connection,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum InspectionFormat {
    /// Lines for people; problems and warnings go to stderr
    Text,
    /// One JSON document on stdout
    Json,
}

pub(super) async fn run(
    arguments: &Arguments,
    remarks: &mut Remarks,
) -> Result<(String, Exit), Failure> {
    let access = Access::new(&arguments.connection, remarks)?;
    let opened = access.open(&arguments.image, remarks).await?;
    // Pinned, so that both readings are of the same image.
    let pinned = arguments.image.pinned(opened.image.digest.clone());
    let read = Box::pin(access.look_up(&pinned, opened.credential.as_ref())).await?;
    let inspection = inspection(&arguments.image, &opened, &read);
    let exit = if inspection.problems.is_empty() { Exit::Fine } else { Exit::Problems };
    match arguments.output {
        InspectionFormat::Json => Ok((inspection.to_json(), exit)),
        InspectionFormat::Text => {
            for warning in &inspection.warnings {
                remarks.warn(&format!("{}: {warning}", inspection.image));
            }
            for problem in &inspection.problems {
                remarks.problem(&inspection.image, &problem.message, &problem.remedy);
            }
            Ok((inspection.to_text(), exit))
        }
    }
}

fn inspection(reference: &Reference, opened: &Opened, read: &Image) -> Inspection {
    let name = reference.to_string();
    let release = release_of(&name, read.release().as_deref());
    let platforms = opened.image.parts().iter().map(|part| Platform {
        name: part.platform.clone(),
        digest: part.digest.to_string(),
        size: part.size(),
        layers: part.layer_count(),
    });
    let mut inspection = Inspection {
        digest: opened.image.digest.to_string(),
        is_index: opened.image.is_index(),
        platforms: platforms.collect(),
        other_entries: opened.image.others().len(),
        read_platform: read.platform.clone(),
        labels: read.labels.iter().filter_map(|(key, value)| label(key, value)).collect(),
        release: release.clone(),
        configuration: None,
        embedded_for: embedded_for(&name, read.release()),
        differing_platforms: read.differing_platforms.clone(),
        problems: Vec::new(),
        warnings: Vec::new(),
        image: name.clone(),
    };
    match &read.base {
        Err(error) => inspection.problems.push(Problem {
            reason: "UnsupportedBase".to_owned(),
            message: error.to_string(),
            remedy: "write the labels anew with llsd image label".to_owned(),
        }),
        Ok(base) => assessed(&mut inspection, release.as_deref(), base.as_ref()),
    }
    if !inspection.differing_platforms.is_empty() {
        inspection.warnings.push(format!(
            "{} holds another configuration than {}, which is the one that is used",
            inspection.differing_platforms.join(", "),
            inspection.read_platform
        ));
    }
    inspection
}

/// What the operator makes of the image's own configuration, or of there being none.
fn assessed(
    inspection: &mut Inspection,
    release: Option<&str>,
    base: Option<&llsd_registry::BaseConfig>,
) {
    let facts = base.map(|base| BaseFacts {
        text: base.text.clone(),
        source: match base.source {
            Source::Labels => BaseSource::Labels,
            Source::Layer => BaseSource::Layer,
        },
        found_in: Some(base.label.clone()),
    });
    match (assess(&inspection.image, release, facts), base) {
        (Ok(usable), Some(base)) => {
            inspection.configuration = Some(FoundConfiguration {
                source: format!("{:?}", base.source),
                label: base.label.clone(),
                size: base.text.len(),
                version: usable.version,
                server: usable.server.to_owned(),
            });
        }
        (Ok(_), None) => {}
        (Err(problems), _) => {
            inspection.problems.extend(problems.into_iter().map(|problem| Problem {
                reason: format!("{:?}", problem.reason),
                message: problem.message,
                remedy: problem.remedy,
            }));
        }
    }
}

/// The distribution whose configuration the operator itself has for the image.
fn embedded_for(image: &str, release: Option<String>) -> Vec<String> {
    let distribution = DistributionSpec { name: None, image: Some(image.to_owned()) };
    let wanted = resolve(&distribution, &OperatorFacts::default(), &mut Findings::default());
    let facts = ImageFacts { release, ..ImageFacts::default() };
    let name = wanted.and_then(|wanted| wanted.described_by(&facts));
    name.map(str::to_owned).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_of_the_operators_own_table_is_known_under_every_spelling() {
        for (image, expected) in [
            ("docker.io/llamastack/distribution-starter:0.7.3", vec!["starter"]),
            ("llamastack/distribution-starter:0.7.3", vec!["starter"]),
            ("llamastack/distribution-starter:0.7.2", vec![]),
            ("quay.io/llamastack/distribution-starter:0.7.3", vec![]),
        ] {
            assert_eq!(embedded_for(image, None), expected, "{image}");
        }
    }

    fn assessed_without_labels(image: &str) -> Inspection {
        let mut inspection = Inspection {
            image: image.to_owned(),
            digest: String::new(),
            is_index: false,
            platforms: Vec::new(),
            other_entries: 0,
            read_platform: String::new(),
            labels: Vec::new(),
            release: None,
            configuration: None,
            embedded_for: embedded_for(image, None),
            differing_platforms: Vec::new(),
            problems: Vec::new(),
            warnings: Vec::new(),
        };
        assessed(&mut inspection, None, None);
        inspection
    }

    #[test]
    fn such_an_image_needs_no_labels_and_a_copy_is_told_how_to_do_without() {
        let inspection = assessed_without_labels("docker.io/llamastack/distribution-starter:0.7.3");
        assert!(inspection.problems.is_empty() && inspection.warnings.is_empty());
        assert!(inspection.to_text().contains("that of the distribution starter"));
        let inspection = assessed_without_labels("mirror.internal/distribution-starter:0.7.3");
        assert_eq!(inspection.problems[0].reason, "MissingConfigLabels");
        let remedy = &inspection.problems[0].remedy;
        assert!(remedy.contains("write distribution.name: starter"), "{remedy}");
    }
}
