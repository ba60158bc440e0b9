//! The images that a resource names are references to images: one that is not would only be found out when a
//! registry is asked for it.

use llsd_reference::Reference;
use serde_json::Value;

use super::value::present;
use crate::problems::{FieldPath, Findings, Reason};

pub(super) fn check(spec: &Value, findings: &mut Findings) {
    let path = FieldPath::spec().key("distribution").key("image");
    check_reference(&spec["distribution"]["image"], &path, findings);
    let external = present(spec, "externalProviders").and_then(Value::as_object);
    for (api, entries) in external.into_iter().flatten() {
        let path = FieldPath::spec().key("externalProviders").key(api);
        for (index, entry) in entries.as_array().into_iter().flatten().enumerate() {
            check_reference(&entry["image"], &path.index(index).key("image"), findings);
        }
    }
}

/// The message does not repeat the text, which may hold a password before an `@`.
fn check_reference(image: &Value, path: &FieldPath, findings: &mut Findings) {
    let Some(image) = image.as_str().filter(|image| !image.is_empty()) else { return };
    if let Err(why) = image.parse::<Reference>() {
        let message = if image.contains("://") {
            "is not an image reference: it begins with a scheme".to_owned()
        } else {
            format!("is {why}")
        };
        let remedy = "write REGISTRY/REPOSITORY:TAG, or REGISTRY/REPOSITORY@sha256: and the 64 digits of a \
                      digest";
        findings.problem(path, Reason::Invalid, message, remedy);
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("foo@sha256:zz", "is not an image reference: the digest has the wrong length")]
    #[case("foo@latest", "is not an image reference: a digest is <algorithm>:<hexadecimal>")]
    #[case("https://quay.io/foo:1", "is not an image reference: it begins with a scheme")]
    #[case("quay.io/foo:a b", "is not an image reference: the tag is not valid")]
    fn what_is_no_reference_is_refused_wherever_an_image_is_named(
        #[case] image: &str,
        #[case] message: &str,
    ) {
        let spec = json!({
            "distribution": {"image": image},
            "externalProviders": {"inference": [{"providerId": "a", "image": image}]},
        });
        let mut findings = Findings::default();
        check(&spec, &mut findings);
        let found: Vec<_> =
            findings.problems.iter().map(|it| (it.path.to_string(), it.message.as_str())).collect();
        let paths = ["spec.distribution.image", "spec.externalProviders.inference[0].image"];
        assert_eq!(found, paths.map(|path| (path.to_owned(), message)));
    }
}
