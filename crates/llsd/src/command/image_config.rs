//! `--image-config`: the labels of an image, read by the same rules as in a registry, and the
//! variables that it sets. Only the layers are not at hand, so a label that points into one leads
//! to a configuration that is not available.

use std::collections::{BTreeMap, BTreeSet};

use llsd_offline::Finding;
use llsd_plan::facts::{BaseFacts, BaseSource, ImageFacts};
use llsd_plan::problems::{FieldPath, Reason};
use llsd_registry::Limits;
use llsd_registry::labels::{self, Labels, Location};
use llsd_yaml::Position;
use serde::Deserialize;

#[derive(Deserialize)]
struct ImageConfiguration {
    config: Option<ContainerConfiguration>,
    /// Every image has it, so it tells an image's configuration from other JSON.
    rootfs: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct ContainerConfiguration {
    #[serde(rename = "Labels")]
    labels: Option<BTreeMap<String, String>>,
    /// `NAME=VALUE`.
    #[serde(rename = "Env")]
    env: Option<Vec<String>>,
}

/// What an image says of itself.
#[derive(Debug, Default)]
pub(super) struct Image {
    labels: Labels,
    /// Names alone: a value may be a secret.
    variables: BTreeSet<String>,
}

pub(super) fn parse(_: &str, text: &str) -> Result<Image, Finding> {
    let configuration: ImageConfiguration = serde_json::from_str(text).map_err(|error| {
        let at = Position { line: error.line().max(1), column: error.column().max(1) };
        refused(at, &format!("not an OCI image configuration: {error}"))
    })?;
    if configuration.config.is_none() && configuration.rootfs.is_none() {
        let message = "not an OCI image configuration: it has neither `config` nor `rootfs`";
        return Err(refused(Position::START, message));
    }
    let Some(config) = configuration.config else { return Ok(Image::default()) };
    let variables = config.env.unwrap_or_default();
    // An empty value is as good as none to the server.
    let set = |variable: &String| {
        let (name, value) = variable.split_once('=')?;
        (!value.is_empty()).then(|| name.to_owned())
    };
    Ok(Image {
        labels: config.labels.unwrap_or_default(),
        variables: variables.iter().filter_map(set).collect(),
    })
}

/// What is to be known of the image.
#[derive(Debug)]
pub(super) struct ImageDescription {
    variables: BTreeSet<String>,
    release: Option<String>,
    base: Option<BaseFacts>,
    unavailable: Option<String>,
}

/// Without `base_wanted` the labels of the configuration are passed over: it comes from elsewhere.
pub(super) fn describe(image: Image, base_wanted: bool) -> Result<ImageDescription, Finding> {
    let labels = &image.labels;
    let mut found = ImageDescription {
        variables: image.variables,
        release: labels::release(labels),
        base: None,
        unavailable: None,
    };
    if !base_wanted {
        return Ok(found);
    }
    match labels::locate(labels, Limits::default().file) {
        Err(error) => return Err(refused(Position::START, &error.to_string())),
        Ok(None) => {}
        Ok(Some(Location::Inline { label, text })) => {
            found.base =
                Some(BaseFacts { text, source: BaseSource::Labels, found_in: Some(label) });
        }
        Ok(Some(Location::InLayer { digest, path })) => {
            found.unavailable = Some(format!(
                "its label {} points to the file {path} in the layer {digest}, which only a \
                 registry has",
                labels::LAYER
            ));
        }
    }
    Ok(found)
}

impl ImageDescription {
    /// What an earlier fact says of the same image gives way.
    pub(super) fn add_to(self, image: &mut ImageFacts) {
        if self.release.is_some() {
            image.release = self.release;
        }
        image.variables = Some(self.variables);
        image.base = self.base;
        image.unavailable = self.unavailable;
        image.inspected = true;
    }
}

fn refused(at: Position, message: &str) -> Finding {
    let remedy = "give what `crane config IMAGE` prints, and correct the image's labels";
    Finding::new(FieldPath::root(), Reason::UnsupportedBase, message, remedy, at)
}
