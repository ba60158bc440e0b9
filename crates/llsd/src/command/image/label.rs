//! `llsd image label`: puts a configuration into the labels of an image, or points to the layer that
//! holds it, in every platform of the image, and leaves everything else as it was.

use std::path::{Path, PathBuf};

use clap::Args;
use llsd_plan::facts::{BaseFacts, BaseSource};
use llsd_plan::releases::release_of;
use llsd_registry::labels::{Change, INLINE, INLINE_BELOW, LAYER, PATH, release};
use llsd_registry::{FoundFile, Limits, Part, Pushed, Reference};

use super::inspection::{bytes, counted};
use super::usable::{Usable, assess};
use crate::command::registry_access::{Access, Connection, Failure, Opened, Remarks};
use crate::command::{Exit, files};

/// Write a configuration into the labels of an image, where the operator finds it
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The image; its tag is overwritten unless -t names another
    #[arg(value_name = "REF")]
    image: Reference,

    #[command(flatten)]
    configuration: ConfigurationSource,

    /// Write the labelled image here instead: another tag, repository or registry
    #[arg(short = 't', long = "tag", value_name = "NEWREF")]
    target: Option<Reference>,

    /// The version that the configuration is expected to have; another one is refused
    #[arg(long, value_name = "VERSION")]
    version_label: Option<String>,

    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct ConfigurationSource {
    /// The configuration is this file; `-` is stdin
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// The configuration is the file that a container of the image sees under this path
    #[arg(long, value_name = "PATH")]
    from_layer: Option<String>,
}

pub(super) async fn run(
    arguments: &Arguments,
    remarks: &mut Remarks,
) -> Result<(String, Exit), Failure> {
    let image = &arguments.image;
    let target = target(image, arguments.target.as_ref())?;
    let file = arguments.configuration.config.as_deref().map(read_config).transpose()?;
    let access = Access::new(&arguments.connection, remarks)?;
    let opened = access.open(image, remarks).await?;
    let mut changes = Vec::new();
    for part in opened.image.parts() {
        let (from, found) = match (&file, &arguments.configuration.from_layer) {
            (Some((name, text)), _) => (name, Configured::File(text)),
            (None, Some(path)) => {
                let repository = access.client.repository(image, opened.credential.as_ref());
                let found = Box::pin(opened.image.find_file(repository, part, path)).await?;
                (path, Configured::InLayer(found))
            }
            (None, None) => return Err(Failure::Usage("there is no configuration".to_owned())),
        };
        let usable = check(from, found.text(), part, arguments, remarks)?;
        changes.push(change(from, &found, &usable, part, remarks)?);
    }
    let rewritten = opened.image.relabelled(&changes)?;
    let is_same_place = target.name() == image.name() && target.tag() == image.tag();
    if rewritten.is_unchanged() && is_same_place {
        remarks.line(&format!("{image} says so already: nothing was written"));
        return Ok((format!("{}\n", opened.image.digest), Exit::Fine));
    }
    let source = (image, opened.credential.as_ref());
    let pushed = access.push(&rewritten, source, &target, remarks).await?;
    summarise(&opened, &pushed, &target, remarks);
    Ok((format!("{}\n", pushed.digest), Exit::Fine))
}

/// A configuration, and where an image already holds it.
enum Configured<'a> {
    File(&'a str),
    InLayer(FoundFile),
}

impl Configured<'_> {
    fn text(&self) -> &str {
        match self {
            Self::File(text) => text,
            Self::InLayer(found) => &found.text,
        }
    }
}

fn target(image: &Reference, named: Option<&Reference>) -> Result<Reference, Failure> {
    let usage = |message: &str| Failure::Usage(message.to_owned());
    match named {
        Some(target) if target.digest().is_some() => {
            Err(usage("-t takes a tag: the digest comes out of what is written"))
        }
        Some(target) => Ok(target.clone()),
        None if image.tag().is_none() => {
            Err(usage("an image that is named by its digest alone needs -t NEWREF"))
        }
        None => Ok(image.without_digest()),
    }
}

fn read_config(file: &Path) -> Result<(String, String), Failure> {
    let source = files::read_file(file)
        .map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))?;
    match source.text {
        Ok(text) => Ok((source.name, text)),
        Err(fault) => {
            Err(Failure::Problem { at: source.name, message: fault.message, remedy: fault.remedy })
        }
    }
}

/// Whether the operator could build on the configuration.
fn check(
    from: &str,
    text: &str,
    part: &Part,
    arguments: &Arguments,
    remarks: &mut Remarks,
) -> Result<Usable, Failure> {
    let labels = part.labels();
    let image = arguments.image.to_string();
    let release = release_of(&image, release(&labels).as_deref());
    let base = BaseFacts {
        text: text.to_owned(),
        source: BaseSource::File,
        found_in: Some(from.to_owned()),
    };
    let usable = assess(&image, release.as_deref(), Some(base)).map_err(|problems| {
        for problem in problems {
            remarks.problem(from, &problem.message, &problem.remedy);
        }
        Failure::Remarked
    })?;
    match arguments.version_label.as_deref().map(str::trim) {
        Some(expected) if expected != usable.version.to_string() => Err(Failure::Problem {
            at: from.to_owned(),
            message: format!("the version is {}, not {expected}", usable.version),
            remedy: "leave --version-label out: the label follows the configuration".to_owned(),
        }),
        _ => Ok(usable),
    }
}

/// The labels for one platform: the configuration itself while it is small, else where it is.
fn change(
    from: &str,
    found: &Configured<'_>,
    usable: &Usable,
    part: &Part,
    remarks: &mut Remarks,
) -> Result<Change, Failure> {
    let (text, version) = (found.text(), usable.version.to_string());
    let size = text.len();
    let what = format!("{size} bytes, version {version}, llama-stack {}", usable.server);
    if size < INLINE_BELOW {
        remarks.line(&format!("{}: {from} ({what}) goes into {INLINE}", part.platform));
        return Ok(Change::inline(text, &version));
    }
    let most = Limits::default().layer;
    match found {
        Configured::InLayer(FoundFile { layer, layer_size, .. }) if *layer_size > most => {
            Err(Failure::Problem {
                at: from.to_owned(),
                message: format!(
                    "it is in layer {layer}, whose {} are more than the operator reads for it ({})",
                    bytes(*layer_size),
                    bytes(most)
                ),
                remedy: "copy the file in a step of its own when the image is built, so that it \
                         has a layer of its own"
                    .to_owned(),
            })
        }
        Configured::InLayer(FoundFile { layer, path, .. }) => {
            remarks.line(&format!(
                "{}: {from} ({what}) stays in layer {layer}; {LAYER} and {PATH} point there",
                part.platform
            ));
            Ok(Change::in_layer(layer, path, &version))
        }
        Configured::File(_) => Err(Failure::Problem {
            at: from.to_owned(),
            message: format!(
                "{size} bytes are too many for a label, which takes fewer than {INLINE_BELOW}"
            ),
            remedy: "copy the file into the image when it is built, and use --from-layer PATH"
                .to_owned(),
        }),
    }
}

fn summarise(opened: &Opened, pushed: &Pushed, target: &Reference, remarks: &mut Remarks) {
    let others = opened.image.others().len();
    if others > 0 {
        remarks.warn(&format!(
            "the index lists {} beside its images, such as attestations of how they were built; \
             kept as before, though what they speak of has another digest now",
            counted(others, "entry", "entries"),
        ));
    }
    if pushed.mounted > 0 {
        remarks.line(&format!("{} taken over", counted(pushed.mounted, "blob", "blobs")));
    }
    if pushed.copied > 0 {
        let blobs = counted(pushed.copied, "blob", "blobs");
        remarks.line(&format!("{blobs} copied, {}", bytes(pushed.copied_bytes)));
    }
    remarks.line(&format!("{target} is now {}, made from {}", pushed.digest, opened.image.digest));
}
