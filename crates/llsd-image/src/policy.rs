//! Which images a resource may name: the document `images` of the operator's ConfigMap.
//!
//! ```yaml
//! allowed:                       # registries and repositories; unset allows all
//!   - registry.example.com
//!   - quay.io/team               # and all below it
//! signed:                        # images that run only with a signature of one of these keys
//!   - images: [quay.io/team]
//!     keys: [cosign.pub]         # keys of the operator's Secret with public keys
//! ```

use serde_json::Value;

use crate::mirrors::{ImageName, RepositoryPrefix};
use crate::settings::{ConfigProblem, Problems, below, document};

/// Which images a resource may name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImagePolicy {
    allowed: Option<Vec<RepositoryPrefix>>,
    signed: Vec<SignedImages>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct SignedImages {
    images: Vec<RepositoryPrefix>,
    keys: Vec<String>,
}

impl ImagePolicy {
    /// No image at all.
    pub fn allowing_none() -> Self {
        Self { allowed: Some(Vec::new()), signed: Vec::new() }
    }

    /// Reads the document; an empty one allows all. All mistakes are reported together.
    pub fn parse(text: &str) -> Result<Self, Vec<ConfigProblem>> {
        let value = document(text).map_err(|problem| vec![problem])?;
        let (mut problems, mut policy) = (Problems::default(), Self::default());
        if value.is_null() {
            return Ok(policy);
        }
        if let Some(root) = problems.object("", &value, &["allowed", "signed"]) {
            let is_set = root.get("allowed").is_some_and(|value| !value.is_null());
            policy.allowed = is_set
                .then(|| problems.parsed("allowed", root.get("allowed"), RepositoryPrefix::parse));
            for (path, item) in problems.items("signed", root.get("signed")) {
                policy.signed.extend(signed(&path, item, &mut problems));
            }
        }
        if problems.0.is_empty() { Ok(policy) } else { Err(problems.0) }
    }

    /// Whether a resource may name this image.
    pub fn allows(&self, image: &str) -> bool {
        let image = ImageName::split(image);
        self.allowed.as_ref().is_none_or(|allowed| allowed.iter().any(|it| it.covers(&image)))
    }

    /// The names of the keys of which one must have signed the image: those of every entry that covers it,
    /// or `None` where no entry does.
    pub fn keys_for(&self, image: &str) -> Option<Vec<&str>> {
        let image = ImageName::split(image);
        let covers = |entry: &&SignedImages| entry.images.iter().any(|it| it.covers(&image));
        let mut entries = self.signed.iter().filter(covers).peekable();
        entries.peek()?;
        Some(entries.flat_map(|entry| entry.keys.iter().map(String::as_str)).collect())
    }

    /// Whether there are images that run only with a signature.
    pub fn asks_for_signatures(&self) -> bool {
        !self.signed.is_empty()
    }
}

fn signed(path: &str, item: &Value, problems: &mut Problems) -> Option<SignedImages> {
    let fields = problems.object(path, item, &["images", "keys"])?;
    let at_keys = below(path, "keys");
    let keys = problems.texts(&at_keys, fields.get("keys"));
    if keys.is_empty() {
        problems.at(&at_keys, "at least one key is required");
    }
    let keys = keys.into_iter().map(|(_, key)| key.to_owned()).collect();
    let at_images = below(path, "images");
    let images = problems.parsed(&at_images, fields.get("images"), RepositoryPrefix::parse);
    if images.is_empty() {
        problems.at(&at_images, "at least one registry or repository is required");
    }
    Some(SignedImages { images, keys })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> ImagePolicy {
        let text = "
            allowed: [registry.example.com, quay.io/team, '*.internal', docker.io/llamastack]
            signed:
              - {images: [quay.io/team], keys: [a.pub]}
              - {images: [quay.io/team/server, registry.example.com], keys: [b.pub]}";
        ImagePolicy::parse(text).unwrap()
    }

    #[test]
    fn an_image_is_allowed_by_its_registry_or_repository() {
        for (image, allowed) in [
            ("registry.example.com/any/server:1", true),
            ("REGISTRY.example.com/any", true),
            ("registry.example.com:5000/any", false),
            ("registry.example.com.evil.org/any", false),
            ("quay.io/team/server@sha256:00", true),
            ("quay.io/team", true),
            ("quay.io/teams/server", false),
            ("quay.io/other/team", false),
            ("mirror.internal/x", true),
            ("internal/x", false),
            ("llamastack/distribution-starter:0.7.3", true),
            ("index.docker.io/llamastack/distribution-starter", true),
            ("busybox", false),
        ] {
            assert_eq!(policy().allows(image), allowed, "{image}");
            assert!(ImagePolicy::default().allows(image));
        }
        let none = ImagePolicy::parse("allowed: []").unwrap();
        assert!(!none.allows("busybox"), "an empty list allows none");
        assert_eq!(none, ImagePolicy::allowing_none());
    }

    #[test]
    fn an_image_is_signed_with_one_of_the_keys_of_all_entries_that_cover_it() {
        for (image, keys) in [
            ("quay.io/team/other", Some(vec!["a.pub"])),
            ("quay.io/team/server:1", Some(vec!["a.pub", "b.pub"])),
            ("registry.example.com/x", Some(vec!["b.pub"])),
            ("docker.io/llamastack/x", None),
        ] {
            assert_eq!(policy().keys_for(image), keys, "{image}");
        }
    }

    #[test]
    fn all_mistakes_are_reported_with_their_paths() {
        let text = "{allowed: ['https://a/b', 1], signed: [{images: ['a b']}, 2], other: 1}";
        let problems = ImagePolicy::parse(text).unwrap_err();
        let paths: Vec<&str> = problems.iter().map(|problem| &*problem.path).collect();
        assert_eq!(
            paths,
            [
                "other",
                "allowed[1]",
                "allowed[0]",
                "signed[0].keys",
                "signed[0].images[0]",
                "signed[0].images",
                "signed[1]"
            ]
        );
    }
}
