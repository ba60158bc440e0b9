//! What the operator would make of a configuration: the planner's own answer, for a resource that
//! asks for nothing but this image and a generated configuration.

use llsd_plan::facts::{BaseFacts, Facts, ImageFacts};
use llsd_plan::plan::{Planning, parse_and_plan};
use llsd_plan::problems::Problem;
use serde_json::json;

/// A configuration that the operator builds on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Usable {
    pub(super) version: u64,
    /// The server that it is for: `0.7.3`, or `0.5 and 0.6` where only the layout is known.
    pub(super) server: &'static str,
}

/// `image` is what a resource would name; without a base, the image has no labels for one.
pub(super) fn assess(
    image: &str,
    release: Option<&str>,
    base: Option<BaseFacts>,
) -> Result<Usable, Vec<Problem>> {
    let resource = json!({
        "apiVersion": "llamastack.io/v1alpha2",
        "kind": "LlamaStackDistribution",
        "metadata": {"name": "any", "namespace": "any"},
        // Asks for a generated configuration and changes nothing in it: there is no such API.
        "spec": {"distribution": {"image": image}, "disabled": ["nothing"]},
    });
    let image = ImageFacts { release: release.map(str::to_owned), base, ..ImageFacts::default() };
    let facts = Facts { complete: true, image, ..Facts::default() };
    match parse_and_plan(&resource, &facts) {
        Planning::Planned(plan) => match plan.generated {
            Some(generated) => Ok(Usable { version: generated.version, server: generated.release }),
            None => Err(Vec::new()),
        },
        Planning::Refused(findings) => Err(findings.problems),
        Planning::Unavailable { missing, .. } => Err(missing),
    }
}

#[cfg(test)]
mod tests {
    use llsd_plan::facts::BaseSource;
    use llsd_plan::problems::Reason;
    use llsd_plan::releases::Distribution;

    use super::*;

    fn usable(text: &str) -> Result<Usable, Vec<Problem>> {
        of_release(text, None)
    }

    fn of_release(text: &str, release: Option<&str>) -> Result<Usable, Vec<Problem>> {
        let text = text.to_owned();
        let base = BaseFacts { text, source: BaseSource::Labels, found_in: None };
        assess("a:b", release, Some(base))
    }

    #[test]
    fn every_configuration_of_a_release_is_usable() {
        for distribution in Distribution::all().values() {
            let usable = usable(distribution.base()).unwrap();
            assert_eq!(usable.version, 2);
            let known = of_release(distribution.base(), Some(&distribution.release));
            let name = distribution.release.replace("ogx-", "OGX ");
            assert_eq!(known.unwrap().server, name);
        }
    }

    #[test]
    fn what_no_release_reads_is_refused_with_the_planners_words() {
        for (text, reason) in [
            ("version: 3\nproviders: {}", Reason::UnsupportedConfigVersion),
            ("version: 2", Reason::UnsupportedBase),
            ("{", Reason::UnsupportedBase),
        ] {
            let problems = usable(text).unwrap_err();
            assert_eq!(problems[0].reason, reason, "{text}");
        }
        let problems = assess("quay.io/a/b:1", None, None).unwrap_err();
        assert_eq!(problems[0].reason, Reason::MissingConfigLabels);
        assert!(problems[0].message.starts_with("Distribution image quay.io/a/b:1 missing config"));
    }
}
