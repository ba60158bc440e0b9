//! `images` of the operator's configuration: the server's image must be an allowed one with the signature that it
//! needs, and volumes bring no other images. Providers' images are checked where the provider is planned.

use llsd_api::v1alpha2::LlamaStackDistributionSpec;

use crate::facts::{Facts, forbidden_image};
use crate::problems::{FieldPath, Findings, Problem, Reason};

/// Reports images that may not run; those that may run once they are signed to `unavailable`.
pub(super) fn check(
    spec: &LlamaStackDistributionSpec,
    image: &str,
    facts: &Facts,
    findings: &mut Findings,
    unavailable: &mut Vec<Problem>,
) {
    let path = FieldPath::spec().key("distribution");
    if facts.image.forbidden {
        findings.problems.push(forbidden_image(path.clone(), image));
    }
    if let Some(why) = &facts.image.unverified {
        let message = format!("the image's signature cannot be verified: {why}");
        let remedy = "sign the image, or use one that is signed; it is looked at again";
        unavailable.push(Problem {
            path,
            reason: Reason::Unavailable,
            message,
            remedy: remedy.to_owned(),
        });
    }
    let overrides = spec.workload.as_ref().and_then(|workload| workload.overrides.as_ref());
    let volumes =
        overrides.and_then(|it| it.volumes.as_ref()).filter(|_| facts.operator.restricts_images);
    let path = FieldPath::spec().key("workload").key("overrides").key("volumes");
    for (index, volume) in volumes.into_iter().flatten().enumerate() {
        if volume.image.is_some() {
            let message = "the operator's configuration says which images may run, and a volume may not bring others";
            let remedy = "put the files into the server's image, or into another kind of volume";
            findings.problem(&path.index(index).key("image"), Reason::Conflict, message, remedy);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::facts::{ImageFacts, OperatorFacts};

    fn found(facts: &Facts) -> (Vec<String>, Vec<String>) {
        let spec = json!({
            "distribution": {"image": "quay.io/other/server:1"},
            "workload": {"overrides": {"volumes": [
                {"name": "a", "emptyDir": {}},
                {"name": "b", "image": {"reference": "quay.io/other/tools:1"}},
            ]}},
        });
        let (mut findings, mut unavailable) = (Findings::default(), Vec::new());
        check(
            &serde_json::from_value(spec).unwrap(),
            "quay.io/other/server:1",
            facts,
            &mut findings,
            &mut unavailable,
        );
        let paths = |problems: &[Problem]| problems.iter().map(|it| it.path.to_string()).collect();
        (paths(&findings.problems), paths(&unavailable))
    }

    #[test]
    fn images_that_may_not_run_are_problems_and_a_missing_signature_may_come() {
        assert_eq!(found(&Facts::default()), (vec![], vec![]));
        let image = ImageFacts { forbidden: true, ..ImageFacts::default() };
        let facts = Facts { image, ..Facts::default() };
        assert_eq!(found(&facts).0, ["spec.distribution"]);
        let image = ImageFacts { unverified: Some("no".to_owned()), ..ImageFacts::default() };
        let facts = Facts { image, ..Facts::default() };
        assert_eq!(found(&facts), (vec![], vec!["spec.distribution".to_owned()]));
        let operator = OperatorFacts { restricts_images: true, ..OperatorFacts::default() };
        let facts = Facts { operator, ..Facts::default() };
        assert_eq!(found(&facts).0, ["spec.workload.overrides.volumes[1].image"]);
    }
}
