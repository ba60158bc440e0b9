//! The base that a configuration is generated from: the one that the image carries, else the operator's own.

use crate::facts::{BaseFacts, Facts};
use crate::problems::{FieldPath, Findings, Problem, Reason};
use crate::resource::embedded::{EmbeddedConfig, ReleaseMatch, probably_copied};
use crate::resource::image::RequestedImage;

/// The base configuration: the image's own, else the one that the operator has for images of its release.
pub(super) fn find(
    image: &RequestedImage,
    facts: &Facts,
    findings: &mut Findings,
) -> Option<BaseFacts> {
    let path = FieldPath::spec().key("distribution");
    if let Some(base) = &facts.image.base {
        if !facts.image.differing_platforms.is_empty() {
            findings.warning(
                &path,
                Reason::Conflict,
                format!(
                    "the image holds another configuration for {}",
                    facts.image.differing_platforms.join(", ")
                ),
                "label all platforms of the image alike",
            );
        }
        return Some(base.clone());
    }
    let base = image.embedded_base(&facts.image)?;
    if let Some(why) = &facts.image.unavailable {
        findings.warning(
            &path,
            Reason::Unavailable,
            format!("the registry cannot be asked ({why}); the embedded configuration is used"),
            "nothing needs to be done if the image is the release's own",
        );
    }
    Some(base)
}

/// Says why there is no base, and how to come by one.
pub(super) fn report_missing(
    image: &RequestedImage,
    facts: &Facts,
    findings: &mut Findings,
    unavailable: &mut Vec<Problem>,
) {
    let name = &image.image;
    match &facts.image.unavailable {
        Some(why) => unavailable.push(Problem {
            path: field(image),
            reason: Reason::Unavailable,
            message: format!("the configuration of {name} cannot be read: {why}"),
            remedy: if facts.complete {
                "it is tried again; check the registry and the pull secrets".to_owned()
            } else {
                "give the file itself with --base".to_owned()
            },
        }),
        None if facts.complete || facts.image.inspected => {
            let path = FieldPath::spec().key("distribution");
            let (why, remedy) = without_labels(image, facts);
            let message = format!(
                "Distribution image {name} missing config labels. Add labels using `crane mutate` \
                 or use `overrideConfig` to provide configuration manually. See \
                 docs/configuration.md for details.{why}"
            );
            findings.problem(&path, Reason::MissingConfigLabels, message, remedy);
        }
        None => unavailable.push(not_known_offline(
            image,
            format!("the configuration inside {name} is not known offline"),
        )),
    }
}

/// What only a registry or a file can tell of an image, with the ways to tell it.
pub fn not_known_offline(image: &RequestedImage, message: String) -> Problem {
    Problem {
        path: field(image),
        reason: Reason::Unavailable,
        message,
        remedy:
            "ask the registry with --registry, or give it with --base, --image-config or --facts"
                .to_owned(),
    }
}

/// Where the resource names the image.
fn field(image: &RequestedImage) -> FieldPath {
    let field = if image.name.is_some() { "name" } else { "image" };
    FieldPath::spec().key("distribution").key(field)
}

const LABEL: &str = "llsd image label does it in one step";

/// Why the operator's own configuration does not describe an image without labels, and what to do. The reason
/// follows the words that are specified.
fn without_labels(image: &RequestedImage, facts: &Facts) -> (String, String) {
    let Some(embedded) = &image.embedded else {
        let copied = probably_copied(&image.image, facts.operator.releases);
        let remedy = copied.map(|name| {
            format!(
                "if it is a copy of the distribution {name}'s image, write distribution.name: {name} and \
                 have an administrator put the copy into image-overrides of the operator's ConfigMap; \
                 for any other image, {LABEL}"
            )
        });
        return (String::new(), remedy.unwrap_or_else(|| LABEL.to_owned()));
    };
    let EmbeddedConfig { distribution, .. } = embedded;
    let release = embedded.release();
    let own = format!(
        " The operator's own configuration of the distribution {distribution} is of release {release}"
    );
    match embedded.fits(&image.image, facts.image.release.as_deref()) {
        ReleaseMatch::Other(stated) => (
            format!("{own}, but this image is of release {stated}."),
            format!(
                "use an image of release {release}{}, or label this one: {LABEL}",
                place(image, distribution)
            ),
        ),
        ReleaseMatch::Same | ReleaseMatch::Unknown => (
            format!("{own}, but which release this image holds is not known."),
            format!(
                "if it is a copy of {}, name it by the tag {}{}; for any other image, {LABEL}",
                embedded.image(),
                release.trim_start_matches("ogx-"),
                place(image, distribution)
            ),
        ),
    }
}

/// Where the image is named, if that is not the resource.
fn place(image: &RequestedImage, distribution: &str) -> String {
    if image.overridden {
        format!(" under {distribution} in image-overrides of the operator's ConfigMap")
    } else if image.name.is_some() {
        format!(" in the operator's RELATED_IMAGE variable of {distribution}")
    } else {
        String::new()
    }
}
