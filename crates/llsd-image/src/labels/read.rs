//! What an image's labels say: where its configuration is, its schema version, and the server's release.
//! Four families of labels are known; the first that an image uses wins.

use std::collections::BTreeMap;

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use crate::{Digest, Error};

pub const INLINE: &str = "io.llamastack.config.base64";
pub const LAYER: &str = "io.llamastack.config.layer";
pub const PATH: &str = "io.llamastack.config.path";
/// The schema version of the configuration, such as `2`.
pub const VERSION: &str = "io.llamastack.config.version";

/// The prefixes under which distributions name a default file and hold each file on its own:
/// `<prefix>.distribution.default-config` and `<prefix>.config.<file>`.
pub const FILE_FAMILIES: [&str; 2] = ["com.llamastack", "com.ogx"];

/// Where images say which release of the server they hold, in the order of trust. The second one's
/// server is OGX.
const RELEASES: [&str; 3] = [
    "com.llamastack.distribution.version",
    "com.ogx.distribution.version",
    "org.opencontainers.image.version",
];
/// How the labels of images begin that hold the one server or the other. `io.llamastack.` tells
/// nothing: the operator's own command writes such labels on images of both.
const OF_LLAMA_STACK: &str = "com.llamastack.";
const OF_OGX: &str = "com.ogx.";

/// Where a configuration was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    Labels,
    Layer,
}

/// What an image's labels say about its configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// The configuration itself, under this label.
    Inline { label: String, text: String },
    /// A file in one of the image's layers.
    InLayer { digest: Digest, path: String },
}

pub type Labels = BTreeMap<String, String>;

/// Finds the configuration. `None` means that the image has no such labels; a label that is there
/// and not usable is an error, never a reason to look at the next family.
pub fn locate(labels: &Labels, limit: u64) -> Result<Option<Location>, Error> {
    if let Some(encoded) = labels.get(INLINE) {
        return inline(INLINE, encoded, limit).map(Some);
    }
    match (labels.get(LAYER), labels.get(PATH)) {
        (Some(digest), Some(path)) => {
            let invalid = |label: &str, reason| Error::InvalidLabel { label: label.into(), reason };
            let digest = digest.trim().parse();
            return Ok(Some(Location::InLayer {
                digest: digest.map_err(|_| invalid(LAYER, "it is not a digest"))?,
                path: crate::layer::plain_path(path.trim())
                    .ok_or_else(|| invalid(PATH, "it is not a path of a file within the image"))?,
            }));
        }
        (Some(_), None) => return Err(missing(LAYER, "the path label beside it is missing")),
        (None, Some(_)) => return Err(missing(PATH, "the layer label beside it is missing")),
        (None, None) => {}
    }
    for family in FILE_FAMILIES {
        let default = format!("{family}.distribution.default-config");
        let Some(file) = labels.get(&default) else { continue };
        let label = format!("{family}.config.{}", file.trim());
        let Some(encoded) = labels.get(&label) else {
            return Err(missing(&default, "it names a file that has no label"));
        };
        return inline(&label, encoded, limit).map(Some);
    }
    Ok(None)
}

/// The configuration's schema version, if the image says.
pub fn config_version(labels: &Labels) -> Option<&str> {
    labels.get(VERSION).map(|version| version.trim()).filter(|version| !version.is_empty())
}

/// The server's release, if the image says: `0.7.3`, or `ogx-1.5.0` where a label of OGX says so,
/// or `ogx` where such labels name no release.
pub fn release(labels: &Labels) -> Option<String> {
    let named = RELEASES.iter().filter_map(|label| labels.get(*label));
    let named = named.map(|version| version.trim()).find(|version| !version.is_empty());
    let has = |family: &str| labels.keys().any(|label| label.starts_with(family));
    if !has(OF_OGX) || has(OF_LLAMA_STACK) {
        return named.map(str::to_owned);
    }
    let is_number =
        |version: &&str| version.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit());
    Some(match named.filter(is_number) {
        Some(version) => format!("ogx-{}", version.trim_start_matches('v')),
        None => "ogx".to_owned(),
    })
}

fn missing(label: &str, reason: &'static str) -> Error {
    Error::InvalidLabel { label: label.to_owned(), reason }
}

fn inline(label: &str, encoded: &str, limit: u64) -> Result<Location, Error> {
    // People wrap base64 and drop its padding; neither changes what it says.
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &alphabet::STANDARD,
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
    );
    let compact: Vec<u8> = encoded.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let content = LENIENT.decode(compact).map_err(|_| missing(label, "it is not base64"))?;
    if content.is_empty() {
        return Err(missing(label, "it is empty"));
    }
    if content.len() as u64 > limit {
        return Err(Error::TooLarge { what: format!("the label {label}"), limit });
    }
    let text = String::from_utf8(content).map_err(|_| missing(label, "it is not UTF-8 text"))?;
    Ok(Location::Inline { label: label.to_owned(), text })
}

#[cfg(test)]
mod tests {
    use base64::prelude::BASE64_STANDARD;

    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn text(pairs: &[(&str, &str)]) -> Option<String> {
        match locate(&labels(pairs), 1000).unwrap()? {
            Location::Inline { text, .. } => Some(text),
            Location::InLayer { path, .. } => Some(path),
        }
    }

    #[test]
    fn the_first_family_that_is_used_wins() {
        let layer = format!("sha256:{}", "0".repeat(64));
        let [one, three, four] = ["one", "three", "four"].map(|text| BASE64_STANDARD.encode(text));
        let all = [
            (INLINE, one.as_str()),
            (LAYER, &layer),
            (PATH, "/app/./config.yaml"),
            ("com.llamastack.distribution.default-config", "run.yaml"),
            ("com.llamastack.config.run.yaml", &three),
            ("com.ogx.distribution.default-config", "config.yaml"),
            ("com.ogx.config.config.yaml", &four),
        ];
        assert_eq!(text(&all).unwrap(), "one");
        assert_eq!(text(&all[1..]).unwrap(), "app/config.yaml");
        assert_eq!(text(&all[3..]).unwrap(), "three");
        assert_eq!(text(&all[5..]).unwrap(), "four");
        assert_eq!(text(&[("maintainer", "x")]), None);
    }

    #[test]
    fn base64_may_be_wrapped_and_unpadded() {
        assert_eq!(text(&[(INLINE, "dmVy\nc2lv\r\nbjogMg")]).unwrap(), "version: 2");
    }

    #[test]
    fn an_unusable_label_is_an_error_and_not_a_missing_one() {
        let layer = format!("sha256:{}", "0".repeat(64));
        let large = BASE64_STANDARD.encode("x".repeat(1001));
        for pairs in [
            vec![(INLINE, "***")],
            vec![(INLINE, "")],
            vec![(INLINE, "/////w==")],
            vec![(INLINE, &large)],
            vec![(LAYER, layer.as_str())],
            vec![(PATH, "a")],
            vec![(LAYER, "latest"), (PATH, "a")],
            vec![(LAYER, &layer), (PATH, "../../etc/passwd")],
            vec![(LAYER, &layer), (PATH, "/")],
            vec![("com.ogx.distribution.default-config", "gone.yaml")],
        ] {
            assert!(locate(&labels(&pairs), 1000).is_err(), "{pairs:?}");
        }
    }

    #[test]
    fn versions_are_read_where_images_hold_them() {
        let all = labels(&[
            (VERSION, " 2 "),
            ("org.opencontainers.image.version", "ubi9"),
            ("com.llamastack.distribution.version", "0.7.3"),
        ]);
        assert_eq!((config_version(&all), release(&all).as_deref()), (Some("2"), Some("0.7.3")));
        assert_eq!((config_version(&labels(&[])), release(&labels(&[]))), (None, None));
    }

    #[test]
    fn labels_of_ogx_tell_the_server_with_its_release() {
        let of = |pairs: &[(&str, &str)]| release(&labels(pairs));
        let version = "org.opencontainers.image.version";
        assert_eq!(of(&[("com.ogx.distribution.version", "1.5.0")]).unwrap(), "ogx-1.5.0");
        let family = ("com.ogx.distribution.default-config", "config.yaml");
        assert_eq!(of(&[family, (version, "v1.2.5")]).unwrap(), "ogx-1.2.5");
        assert_eq!(of(&[family, (version, "ubi9")]).unwrap(), "ogx");
        assert_eq!(of(&[family]).unwrap(), "ogx");
        let other = ("com.llamastack.distribution.version", "0.7.3");
        assert_eq!(of(&[family, other]).unwrap(), "0.7.3");
        assert_eq!(of(&[(VERSION, "2"), (version, "1.5.0")]).unwrap(), "1.5.0");
    }
}
