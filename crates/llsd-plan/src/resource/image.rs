//! The image that a resource asks for: by itself, or by the name of a distribution.

use llsd_api::v1alpha2::DistributionSpec;

use crate::facts::{BaseFacts, BaseSource, OperatorFacts};
use crate::problems::suggest::nearest;
use crate::problems::{FieldPath, Findings, Reason};
use crate::releases::{Distribution, release_of_server, server_of};

/// The image that a resource asks for.
#[derive(Clone, Debug, Default)]
pub struct RequestedImage {
    /// As the resource, an override or the table writes it: with a tag, a digest, or neither.
    pub image: String,
    /// The name, where the resource gives one.
    pub name: Option<String>,
    /// Whether the image is the table's own, so that the embedded configuration describes it.
    pub embedded: bool,
    /// Whether the operator's ConfigMap replaced the distribution's image by it.
    pub overridden: bool,
    distribution: Option<&'static Distribution>,
}

impl RequestedImage {
    /// An image that no distribution stands for.
    pub fn by_itself(image: impl Into<String>) -> Self {
        Self { image: image.into(), ..Self::default() }
    }

    /// The image of `image-overrides`, where that is what the resource gets.
    pub fn image_override(&self) -> Option<&str> {
        Some(self.image.as_str()).filter(|_| self.overridden)
    }

    /// The release of the server inside: see [`crate::releases::release_of`]. A name of the table also
    /// tells the server where another image stands for it.
    pub fn release(&self, label: Option<&str>) -> Option<String> {
        let server = self.distribution.and_then(|known| server_of(&known.release));
        release_of_server(&self.image, label, server)
    }

    /// The base configuration that the operator itself has for the image, while it is the table's.
    pub fn embedded_base(&self) -> Option<BaseFacts> {
        let distribution = self.distribution.filter(|_| self.embedded)?;
        Some(BaseFacts {
            text: distribution.base().to_owned(),
            source: BaseSource::Embedded,
            found_in: Some(format!("embedded, release {}", distribution.release)),
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
        return Some(RequestedImage::by_itself(image));
    }
    let name = distribution.name.as_deref()?;
    let table = &operator.releases.distributions;
    let Some(known) = table.get(name) else {
        findings.problem(
            &FieldPath::spec().key("distribution").key("name"),
            Reason::NotFound,
            format!("no distribution `{name}` is known"),
            known_distributions(name, table.keys()),
        );
        return None;
    };
    let other = operator.image_overrides.get(name).or_else(|| operator.related_images.get(name));
    let image = other.unwrap_or(&known.image).clone();
    Some(RequestedImage {
        embedded: image == known.image,
        overridden: operator.image_overrides.contains_key(name),
        image,
        name: Some(name.to_owned()),
        distribution: Some(known),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        operator.image_overrides.insert("ogx-starter".into(), "override:1".into());
        let ogx = DistributionSpec { name: Some("ogx-starter".into()), image: None };
        let ogx = resolve(&ogx, &operator, &mut findings).unwrap();
        assert_eq!(ogx.release(None).as_deref(), Some("ogx"));
        assert!(findings.problems.is_empty());
        let unknown = DistributionSpec { name: Some("startr".into()), image: None };
        assert!(resolve(&unknown, &operator, &mut findings).is_none());
        assert!(findings.problems[0].remedy.starts_with("did you mean starter?"));
    }
}
