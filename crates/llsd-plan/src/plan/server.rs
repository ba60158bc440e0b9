//! Which server a resource runs: found out once, before anything is planned for it.

use std::borrow::Cow;

use llsd_api::v1alpha2::LlamaStackDistributionSpec;

use crate::config::Generated;
use crate::facts::Facts;
use crate::releases::{ConfigDocument, Release, Releases, ServerFamily, row_of, server_of};
use crate::resource::image::RequestedImage;

/// What is known of the server inside an image.
pub(super) struct KnownServer<'a> {
    pub(super) releases: &'static Releases,
    /// As the release says, else as a file of the user's own shows.
    pub(super) family: ServerFamily,
    /// The release, or one of its layout, as far as either is known.
    pub(super) layout: Option<&'static Release>,
    /// What the configuration is built on: the user's own file, else that of the image.
    pub(super) document: Option<ConfigDocument<'a>>,
    /// What the image states: `0.7.3`, `ogx-1.5.0`, `ogx`.
    release: Option<String>,
    /// How the server is named that a file was generated for.
    of_file: Option<&'static str>,
}

/// What the requested image, the facts and the configuration that is built on tell of the server.
pub(super) fn server_profile<'a>(
    spec: &LlamaStackDistributionSpec,
    image: &RequestedImage,
    facts: &'a Facts,
) -> KnownServer<'a> {
    let releases = facts.operator.releases;
    let release = image.release(facts.image.release.as_deref());
    let stated = release.as_deref();
    let document = |text: Cow<'a, str>| ConfigDocument::new(releases, text, release.clone());
    let own = own_file(spec, facts).map(|(_, text)| document(text.into()));
    let base = facts.image.base.as_ref().map(|base| Cow::from(&base.text));
    let base = base.or_else(|| Some(image.embedded_base(&facts.image)?.text.into())).map(document);
    let shown_by = |document: &Option<ConfigDocument<'a>>| document.as_ref()?.profile();
    let family = stated.and_then(server_of).or_else(|| Some(shown_by(&own)?.server()));
    let row = stated.and_then(|stated| row_of(releases, stated));
    KnownServer {
        releases,
        family: family.unwrap_or_default(),
        layout: row.or_else(|| Some(shown_by(&base)?.layout)),
        document: own.or(base),
        release,
        of_file: None,
    }
}

/// The file of `overrideConfig` as far as the facts hold it: its key and its text.
pub(super) fn own_file<'a>(
    spec: &LlamaStackDistributionSpec,
    facts: &'a Facts,
) -> Option<(&'static str, &'a str)> {
    let data = &facts.config_maps.get(&spec.override_config.as_ref()?.config_map_name)?.data;
    ["config.yaml", "run.yaml"].into_iter().find_map(|key| Some((key, data.get(key)?.as_str())))
}

impl KnownServer<'_> {
    /// Takes the server that a file was generated for.
    pub(super) fn settle(&mut self, generated: &Generated) {
        self.family = generated.server;
        self.layout = Some(generated.layout);
        self.of_file = Some(generated.release);
    }

    /// The server's name with its release: the one that the file was generated for, else the image's.
    pub(super) fn name(&self) -> Option<String> {
        let release = self.release.as_deref().filter(|release| server_of(release).is_some());
        match self.family {
            ServerFamily::Ogx => {
                let release = release.and_then(|release| release.strip_prefix("ogx-"));
                Some(match self.of_file.or(release) {
                    Some(release) => format!("OGX {}", release.trim_start_matches("OGX ")),
                    None => "OGX".to_owned(),
                })
            }
            ServerFamily::LlamaStack => {
                self.of_file.or(release).map(|release| format!("llama-stack {release}"))
            }
        }
    }
}
