//! The ConfigMap with the generated configuration, or with a copy of the user's own. Its name carries a
//! hash of the content, and it never changes: a new configuration is a new object, so that pods of an
//! older one can still start while the newer one rolls out.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;

use super::blueprint::{Blueprint, ConfigSource};
use super::labels;
use crate::problems::{FieldPath, Findings, Reason};

/// The key, and so the file's name.
pub const CONFIG_KEY: &str = "config.yaml";

/// Digits of the hash in the name: as few as can be read, more where a name is taken.
const SUFFIX_LENGTHS: [usize; 4] = [8, 16, 32, 64];

/// What the API server takes, with room for names and labels.
const MAX_BYTES: usize = (1 << 20) - (16 << 10);

/// The name for the content with this hash. `taken` says whether a ConfigMap of a name exists with another
/// content; the suffix is then longer.
pub fn name_for(resource: &str, hash: &str, taken: impl Fn(&str) -> bool) -> String {
    let name = |length: usize| format!("{resource}-config-{}", &hash[..length]);
    SUFFIX_LENGTHS.map(name).into_iter().find(|name| !taken(name)).unwrap_or_else(|| name(64))
}

/// What the ConfigMap of ours holds.
struct Content<'a> {
    data: BTreeMap<String, String>,
    binary_data: Option<&'a BTreeMap<String, ByteString>>,
    hash: &'a str,
}

fn content<'a>(blueprint: &'a Blueprint) -> Option<Content<'a>> {
    Some(match &blueprint.config {
        ConfigSource::Generated { text, hash } => {
            Content { data: [(CONFIG_KEY.into(), text.clone())].into(), binary_data: None, hash }
        }
        ConfigSource::Override { copy: Some(copy), .. } => Content {
            data: copy.data.clone(),
            binary_data: Some(&copy.binary_data).filter(|data| !data.is_empty()),
            hash: &copy.hash,
        },
        ConfigSource::Override { copy: None, .. } | ConfigSource::Default => return None,
    })
}

/// The name of the ConfigMap of ours, if the configuration is in one.
pub fn own_name(blueprint: &Blueprint) -> Option<String> {
    let Content { data, hash, .. } = content(blueprint)?;
    let taken = |name: &str| {
        let known = blueprint.facts.config_maps.get(name);
        known.is_some_and(|known| !known.missing && known.data != data)
    };
    Some(name_for(blueprint.name, hash, taken))
}

pub(super) fn config_map(blueprint: &Blueprint, findings: &mut Findings) -> Option<ConfigMap> {
    let Content { data, binary_data, hash } = content(blueprint)?;
    if let ConfigSource::Generated { text, .. } = &blueprint.config
        && text.len() > MAX_BYTES
    {
        findings.problem(
            &FieldPath::spec(),
            Reason::Invalid,
            format!(
                "the generated configuration has {} bytes, and a ConfigMap holds 1 MiB",
                text.len()
            ),
            "register fewer resources, or shorten the settings",
        );
    }
    let mut metadata = blueprint.owned(own_name(blueprint)?);
    metadata.labels = Some(labels::of_component(blueprint.name, "config"));
    metadata.annotations = Some([(labels::CONFIG_HASH.into(), hash.to_owned())].into());
    Some(ConfigMap {
        metadata,
        data: Some(data),
        binary_data: binary_data.cloned(),
        immutable: Some(true),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::sha256;

    #[test]
    fn the_suffix_grows_until_the_name_is_free() {
        let hash = sha256::hex("version: 2\n");
        assert_eq!(hash.len(), 64);
        let shortest = name_for("llama", &hash, |_| false);
        assert_eq!(shortest, format!("llama-config-{}", &hash[..8]));
        let longer = name_for("llama", &hash, |name| name == shortest);
        assert_eq!(longer, format!("llama-config-{}", &hash[..16]));
        // There is no more than the whole hash; nobody has two texts with one sha256.
        let longest = name_for("llama", &hash, |_| true);
        assert_eq!(longest, format!("llama-config-{hash}"));
    }
}
