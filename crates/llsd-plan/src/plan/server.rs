//! Which server an image holds, where no configuration is generated for it, and its name with its
//! release.

use crate::facts::Facts;
use crate::objects::ConfigSource;
use crate::releases::{ServerFamily, detect, server_of};
use llsd_yaml::document;

/// The server's name with its release: the one that the file was generated for, else the image's.
pub(super) fn named(
    of_file: Option<&str>,
    server: ServerFamily,
    release: Option<&str>,
) -> Option<String> {
    let release = release.filter(|release| server_of(release).is_some());
    match server {
        ServerFamily::Ogx => {
            Some(match of_file.or(release.and_then(|release| release.strip_prefix("ogx-"))) {
                Some(release) => format!("OGX {}", release.trim_start_matches("OGX ")),
                None => "OGX".to_owned(),
            })
        }
        ServerFamily::LlamaStack => {
            of_file.or(release).map(|release| format!("llama-stack {release}"))
        }
    }
}

/// The server inside an image whose configuration is not generated: as its release says, else as a
/// file of the user's own shows.
pub(super) fn inside(config: &ConfigSource, facts: &Facts, release: Option<&str>) -> ServerFamily {
    let by_release = release.and_then(server_of);
    let by_file = || {
        let ConfigSource::Override { config_map, key, .. } = config else { return None };
        let text = facts.config_maps.get(config_map)?.data.get(key)?;
        let profile = detect(facts.operator.releases, &document::read(text).ok()?, release).ok()?;
        Some(profile.server())
    };
    by_release.or_else(by_file).unwrap_or_default()
}
