//! The image that a resource asks for: by itself, or by the name of a distribution.

use llsd_api::v1alpha2::DistributionSpec;

use super::embedded::{EmbeddedConfig, ReleaseMatch};
use crate::facts::{BaseFacts, BaseSource, ImageFacts, OperatorFacts};
use crate::problems::suggest::nearest;
use crate::problems::{FieldPath, Findings, Reason};
use crate::releases::release_of_server;

/// The image that a resource asks for.
#[derive(Clone, Debug, Default)]
pub struct RequestedImage {
    /// As the resource, an override or the table writes it: with a tag, a digest, or neither.
    pub image: String,
    /// The name, where the resource gives one.
    pub name: Option<String>,
    /// Whether the operator's ConfigMap replaced the distribution's image by it.
    pub overridden: bool,
    /// The operator's own configuration for the distribution that it is an image of.
    pub(crate) embedded: Option<EmbeddedConfig>,
}

impl RequestedImage {
    /// The image of `image-overrides`, where that is what the resource gets.
    pub fn image_override(&self) -> Option<&str> {
        Some(self.image.as_str()).filter(|_| self.overridden)
    }

    /// The release of the server inside: see [`crate::releases::release_of`]. A distribution of the table
    /// also tells the server where another image stands for it.
    pub fn release(&self, label: Option<&str>) -> Option<String> {
        let server = self.embedded.as_ref().and_then(EmbeddedConfig::server);
        release_of_server(&self.image, label, server)
    }

    /// The distribution whose configuration the operator itself has for the image.
    pub fn described_by(&self, facts: &ImageFacts) -> Option<&'static str> {
        let embedded = self.embedded.as_ref().filter(|_| !facts.carries_base)?;
        let fits = embedded.fits(&self.image, facts.release.as_deref());
        (fits == ReleaseMatch::Same).then_some(embedded.distribution)
    }

    /// The base configuration that the operator itself has for the image: the one of its distribution, while
    /// the image is of the release that it describes.
    pub fn embedded_base(&self, facts: &ImageFacts) -> Option<BaseFacts> {
        self.described_by(facts)?;
        let embedded = self.embedded.as_ref()?;
        Some(BaseFacts {
            text: embedded.text().to_owned(),
            source: BaseSource::Embedded,
            found_in: Some(format!("embedded, release {}", embedded.release())),
        })
    }
}

/// What to do about the name of a distribution that is none of the known ones.
pub(crate) fn known_distributions<'a>(
    name: &str,
    known: impl Iterator<Item = &'a String>,
) -> String {
    let names: Vec<&str> = known.map(String::as_str).collect();
    let meant = nearest(name, names.iter().copied()).map(|meant| format!("did you mean {meant}? "));
    let meant = meant.unwrap_or_default();
    format!("{meant}known are {}; any other runs by its image", names.join(", "))
}

/// The image behind `spec.distribution`, or nothing and a problem.
pub fn resolve(
    distribution: &DistributionSpec,
    operator: &OperatorFacts,
    findings: &mut Findings,
) -> Option<RequestedImage> {
    if let Some(image) = &distribution.image {
        let embedded = EmbeddedConfig::of_image(image, operator);
        return Some(RequestedImage { image: image.clone(), embedded, ..Default::default() });
    }
    let name = distribution.name.as_deref()?;
    let table = &operator.releases.distributions;
    let Some((known, own)) = table.get_key_value(name) else {
        findings.problem(
            &FieldPath::spec().key("distribution").key("name"),
            Reason::NotFound,
            format!("no distribution `{name}` is known"),
            known_distributions(name, table.keys()),
        );
        return None;
    };
    let other = operator.image_overrides.get(name).or_else(|| operator.related_images.get(name));
    let image = other.unwrap_or(&own.image).clone();
    Some(RequestedImage {
        embedded: Some(EmbeddedConfig::new(known, own, &image)),
        overridden: operator.image_overrides.contains_key(name),
        image,
        name: Some(name.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn named(name: &str) -> DistributionSpec {
        DistributionSpec { name: Some(name.into()), image: None }
    }

    fn overriding(name: &str, image: &str) -> OperatorFacts {
        let image_overrides = [(name.to_owned(), image.to_owned())].into();
        OperatorFacts { image_overrides, ..OperatorFacts::default() }
    }

    fn resolved(distribution: &DistributionSpec, operator: &OperatorFacts) -> RequestedImage {
        let mut findings = Findings::default();
        let resolved = resolve(distribution, operator, &mut findings).unwrap();
        assert!(findings.problems.is_empty());
        resolved
    }

    fn labelled(release: &str) -> ImageFacts {
        ImageFacts { release: Some(release.to_owned()), ..ImageFacts::default() }
    }

    #[test]
    fn overrides_win_over_the_operators_environment_and_both_over_the_table() {
        let mut operator = OperatorFacts::default();
        let starter = named("starter");
        assert!(resolved(&starter, &operator).image.contains("/distribution-starter:"));
        operator.related_images.insert("starter".into(), "related:1".into());
        assert_eq!(resolved(&starter, &operator).image, "related:1");
        operator.image_overrides.insert("starter".into(), "override:1".into());
        let image = resolved(&starter, &operator);
        assert_eq!(
            (image.image.as_str(), image.image_override()),
            ("override:1", Some("override:1"))
        );
        assert_eq!(image.release(None), None);
        let ogx = resolved(&named("ogx-starter"), &overriding("ogx-starter", "override:1"));
        assert_eq!(ogx.release(None).as_deref(), Some("ogx"));
        let mut findings = Findings::default();
        assert!(resolve(&named("startr"), &operator, &mut findings).is_none());
        assert!(findings.problems[0].remedy.starts_with("did you mean starter?"));
    }

    #[rstest]
    #[case("starter", "registry.internal/llamastack/starter:0.7.3", None, true)]
    #[case("starter", "registry.internal/llamastack/starter:v0.7.3-ubi9", None, true)]
    #[case("starter", "registry.internal/llamastack/starter:0.7.3", Some("24.04"), true)]
    #[case("starter", "registry.internal/llamastack/starter:0.7.3-rc1", None, false)]
    #[case("starter", "registry.internal/llamastack/starter:0.7.2", None, false)]
    #[case("starter", "registry.internal/llamastack/starter:0.7.3", Some("0.7.2"), false)]
    #[case("starter", "registry.internal/llamastack/starter:mirror", None, false)]
    #[case("starter", "registry.internal/llamastack/starter:mirror", Some("0.7.3"), true)]
    #[case("ogx-starter", "registry.internal/starter:1.5.0", None, true)]
    #[case("ogx-starter", "registry.internal/starter:mirror", Some("ogx-1.5.0"), true)]
    #[case("ogx-starter", "registry.internal/starter:1.4.1", None, false)]
    #[case("ogx-starter", "registry.internal/starter:0.7.3", None, false)]
    fn another_image_of_the_same_release_keeps_the_distributions_configuration(
        #[case] name: &str,
        #[case] image: &str,
        #[case] label: Option<&str>,
        #[case] keeps: bool,
    ) {
        let facts = label.map(labelled).unwrap_or_default();
        let related_images = [(name.to_owned(), image.to_owned())].into();
        let related = OperatorFacts { related_images, ..OperatorFacts::default() };
        for operator in [overriding(name, image), related] {
            let found = resolved(&named(name), &operator);
            assert_eq!(found.image, image);
            assert_eq!(found.embedded_base(&facts).is_some(), keeps);
            let carries = ImageFacts { carries_base: true, ..facts.clone() };
            assert!(found.embedded_base(&carries).is_none());
        }
    }

    #[rstest]
    #[case("docker.io/llamastack/distribution-starter:0.7.3", Some("starter"))]
    #[case("llamastack/distribution-starter:0.7.3", Some("starter"))]
    #[case("docker.io/ogxai/distribution-nvidia:1.5.0", Some("ogx-nvidia"))]
    #[case("registry.internal/llamastack/starter:0.7.3", Some("starter"))]
    #[case("registry.internal/llamastack/starter:0.7.2", None)]
    #[case("docker.io/llamastack/distribution-starter:0.6.1", None)]
    #[case("docker.io/llamastack/distribution-starter", None)]
    #[case("quay.io/llamastack/distribution-starter:0.7.3", None)]
    #[case("not an image", None)]
    fn an_image_of_a_distribution_has_its_configuration_without_its_name(
        #[case] image: &str,
        #[case] distribution: Option<&str>,
    ) {
        let operator = overriding("starter", "registry.internal/llamastack/starter:latest");
        let digest = format!("{image}@sha256:{}", "0".repeat(64));
        for image in [image, &digest] {
            let spec = DistributionSpec { name: None, image: Some(image.to_owned()) };
            let found = resolved(&spec, &operator);
            assert_eq!(found.described_by(&ImageFacts::default()), distribution, "{image}");
            assert_eq!(found.name, None);
        }
    }
}
