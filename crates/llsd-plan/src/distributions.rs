//! The distributions that a resource can name: their images, and the base configurations that are
//! part of the operator. Both are files under `distributions/`, for maintainers to read and update.

use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

use llsd_api::v1alpha2::DistributionSpec;
use serde::Deserialize;
use serde_json::Value;

use crate::config::era::{self, Server};
use crate::document::{self, Node, Origin};
use crate::facts::{BaseFacts, BaseSource, OperatorFacts};
use crate::problem::{FieldPath, Findings, Reason};
use crate::suggest::nearest;

/// A distribution of the table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Distribution {
    pub image: String,
    pub release: String,
    base: String,
}

static TABLE: LazyLock<BTreeMap<String, Distribution>> = LazyLock::new(|| {
    let table = document::read(include_str!("distributions/images.yaml")).expect("YAML");
    serde_json::from_value(table).expect("the table has image, release and base of each name")
});

/// The files that the table names.
const BASES: [(&str, &str); 8] = [
    ("starter/0.7.3.yaml", include_str!("distributions/starter/0.7.3.yaml")),
    ("starter-gpu/0.6.1.yaml", include_str!("distributions/starter-gpu/0.6.1.yaml")),
    ("postgres-demo/0.7.3.yaml", include_str!("distributions/postgres-demo/0.7.3.yaml")),
    ("meta-reference-gpu/0.4.7.yaml", include_str!("distributions/meta-reference-gpu/0.4.7.yaml")),
    ("remote-vllm/0.2.12.yaml", include_str!("distributions/remote-vllm/0.2.12.yaml")),
    ("ogx-starter/1.5.0.yaml", include_str!("distributions/ogx-starter/1.5.0.yaml")),
    ("ogx-nvidia/1.5.0.yaml", include_str!("distributions/ogx-nvidia/1.5.0.yaml")),
    ("ogx-postgres-demo/1.5.0.yaml", include_str!("distributions/ogx-postgres-demo/1.5.0.yaml")),
];

impl Distribution {
    pub fn all() -> &'static BTreeMap<String, Self> {
        &TABLE
    }

    /// The base configuration that the operator itself has of the distribution's image.
    pub fn base(&self) -> &'static str {
        BASES.iter().find(|(file, _)| *file == self.base).map_or("", |(_, text)| text)
    }
}

/// The embedded configurations as the server reads them, each read when it is first needed.
static READ: [OnceLock<(Value, Node)>; BASES.len()] = [const { OnceLock::new() }; BASES.len()];

/// A configuration of the operator's own, which is read once.
pub(crate) fn already_read(text: &str) -> Option<(&'static Value, &'static Node)> {
    let position = BASES.iter().position(|(_, known)| *known == text)?;
    let (value, node) = READ[position].get_or_init(|| {
        let value = document::read(text).expect("an embedded configuration is YAML");
        let node = Node::from_value(value.clone(), &Origin::Base);
        (value, node)
    });
    Some((value, node))
}

/// The image that a resource asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// As the resource, an override or the table writes it: with a tag, a digest, or neither.
    pub image: String,
    /// The name, where the resource gives one.
    pub name: Option<String>,
    /// Whether the image is the table's own, so that the embedded configuration describes it.
    pub embedded: bool,
}

impl Resolved {
    /// The release of the server inside: see [`release_of`]. A name of the table also tells the
    /// server where another image stands for it.
    pub fn release(&self, label: Option<&str>) -> Option<String> {
        let named = self.name.as_deref().and_then(|name| TABLE.get(name));
        let is_ogx = named.is_some_and(|known| era::server_of(&known.release) == Some(Server::Ogx));
        of_server(&self.image, label, is_ogx || speaks_of_ogx(&self.image))
    }

    /// The base configuration that the operator itself has for the image, while it is the table's.
    pub fn embedded_base(&self) -> Option<BaseFacts> {
        let name = self.name.as_deref().filter(|_| self.embedded)?;
        let distribution = TABLE.get(name)?;
        Some(BaseFacts {
            text: distribution.base().to_owned(),
            source: BaseSource::Embedded,
            found_in: Some(format!("embedded, release {}", distribution.release)),
        })
    }
}

/// The image behind `spec.distribution`, or nothing and a problem.
pub fn resolve(
    distribution: &DistributionSpec,
    operator: &OperatorFacts,
    findings: &mut Findings,
) -> Option<Resolved> {
    if let Some(image) = &distribution.image {
        return Some(Resolved { image: image.clone(), name: None, embedded: false });
    }
    let name = distribution.name.as_deref()?;
    let Some(known) = TABLE.get(name) else {
        let names: Vec<&str> = TABLE.keys().map(String::as_str).collect();
        let meant = nearest(name, names.iter().copied())
            .map(|meant| format!("did you mean {meant}? "))
            .unwrap_or_default();
        findings.problem(
            &FieldPath::spec().key("distribution").key("name"),
            Reason::NotFound,
            format!("no distribution `{name}` is known"),
            format!("{meant}known are {}; any other runs by its image", names.join(", ")),
        );
        return None;
    };
    let other = operator.image_overrides.get(name).or_else(|| operator.related_images.get(name));
    let image = other.unwrap_or(&known.image).clone();
    Some(Resolved { embedded: image == known.image, image, name: Some(name.to_owned()) })
}

/// The release of the server inside an image, as far as it is said: by `label`, what the image's
/// version label says, else by its tag. A name that speaks of OGX tells the server, for a number
/// alone may also be the image's own.
pub fn release_of(image: &str, label: Option<&str>) -> Option<String> {
    of_server(image, label, speaks_of_ogx(image))
}

fn of_server(image: &str, label: Option<&str>, is_ogx: bool) -> Option<String> {
    let tag = release_of_tag(image);
    if label.is_some_and(|label| era::server_of(label).is_some()) || !is_ogx {
        return label.or(tag).map(str::to_owned);
    }
    let is_number = |release: &&str| era::of_ogx(Some(release)) != era::of_ogx(None);
    Some(era::of_ogx(label.filter(is_number).or(tag)))
}

/// Whether a part of the image's path is a word that begins with `ogx`.
fn speaks_of_ogx(image: &str) -> bool {
    let name = image.split('@').next().unwrap_or_default();
    let path = name.split_once('/').map_or(name, |(_, path)| path);
    let path = path.rsplit_once(':').map_or(path, |(path, _)| path);
    path.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word.starts_with("ogx"))
}

/// The release that an image's tag names, if it is one: `0.6.1`, `v0.6.1-rc1`.
fn release_of_tag(image: &str) -> Option<&str> {
    let name = image.split('@').next()?;
    let tag = name.rsplit_once(':').map(|(_, tag)| tag).filter(|tag| !tag.contains('/'))?;
    let numbers = tag.trim_start_matches('v').split(['-', '+']).next()?;
    let parts: Vec<&str> = numbers.split('.').collect();
    let is_release = (2..=4).contains(&parts.len())
        && parts.iter().take(2).all(|part| part.parse::<u32>().is_ok());
    is_release.then_some(tag)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn every_name_has_a_base_of_its_own() {
        assert_eq!(TABLE.len(), BASES.len());
        for distribution in TABLE.values() {
            assert!(!distribution.base().is_empty(), "{}", distribution.base);
            assert_eq!(release_of(&distribution.image, None).as_ref(), Some(&distribution.release));
        }
    }

    #[rstest]
    #[case("docker.io/llamastack/distribution-starter:0.6.1", Some("0.6.1"))]
    #[case("localhost:5000/starter", None)]
    #[case("localhost:5000/starter:v0.7.0-rc1@sha256:0", Some("v0.7.0-rc1"))]
    #[case("starter:latest", None)]
    #[case("starter:2024-01-01", None)]
    fn a_tag_that_is_a_release_tells_it(#[case] image: &str, #[case] release: Option<&str>) {
        assert_eq!(release_of_tag(image), release);
    }

    #[rstest]
    #[case("docker.io/ogxai/distribution-starter:1.5.0", None, Some("ogx-1.5.0"))]
    #[case("quay.io/me/my-ogx:latest", None, Some("ogx"))]
    #[case("quay.io/me/my-ogx:7", Some("v1.2.5"), Some("ogx-1.2.5"))]
    #[case("quay.io/me/my-ogx:1.2.5", Some("ubi9"), Some("ogx-1.2.5"))]
    #[case("quay.io/me/my-ogx:1.2.5", Some("0.7.3"), Some("0.7.3"))]
    #[case("quay.io/me/stack:1.5.0", None, Some("1.5.0"))]
    #[case("quay.io/me/stack:1.5.0", Some("ogx-1.4.1"), Some("ogx-1.4.1"))]
    #[case("ogx.example.com/me/stack", None, None)]
    fn an_images_name_may_tell_the_server(
        #[case] image: &str,
        #[case] label: Option<&str>,
        #[case] release: Option<&str>,
    ) {
        assert_eq!(release_of(image, label).as_deref(), release);
    }

    #[test]
    fn overrides_win_over_the_operators_environment_and_both_over_the_table() {
        let starter = DistributionSpec { name: Some("starter".into()), image: None };
        let mut operator = OperatorFacts::default();
        let mut findings = Findings::default();
        assert!(resolve(&starter, &operator, &mut findings).unwrap().embedded);
        operator.related_images.insert("starter".into(), "related:1".into());
        assert_eq!(resolve(&starter, &operator, &mut findings).unwrap().image, "related:1");
        operator.image_overrides.insert("starter".into(), "override:1".into());
        let resolved = resolve(&starter, &operator, &mut findings).unwrap();
        assert_eq!((resolved.image.as_str(), resolved.embedded), ("override:1", false));
        assert_eq!(resolved.release(None), None);
        let ogx = Resolved { name: Some("ogx-starter".into()), ..resolved };
        assert_eq!(ogx.release(None).as_deref(), Some("ogx"));
        assert!(findings.problems.is_empty());
        let unknown = DistributionSpec { name: Some("startr".into()), image: None };
        assert!(resolve(&unknown, &operator, &mut findings).is_none());
        assert!(findings.problems[0].remedy.starts_with("did you mean starter?"));
    }
}
