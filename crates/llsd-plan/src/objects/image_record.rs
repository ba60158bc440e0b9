//! The ConfigMap with what was read of a resource's images, so that no registry has to be asked for it
//! again: after a restart of the operator, while the registry is away, or when it has deleted what still
//! runs here. It is looked up by digest and believed only under the operator's own hash.
//!
//! ```json
//! {"version": 1, "images": [{"digest": "sha256:…", "release": "0.7.3", "base": {"text": "…"}}]}
//! ```
//!
//! A later operator may add fields to an image and kinds of images to the list; what an earlier one
//! does not know it leaves out. Another `version` means what cannot be read so, and the registry is
//! asked.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::ConfigMap;
use serde::{Deserialize, Serialize};

use super::blueprint::Owner;
use super::kind::ObjectKind;
use super::labels;
use super::planned::{PlannedObject, planned};
use crate::facts::{BaseFacts, ExternalProviderFacts, ImageFacts};
use crate::resource::Resource;

/// The key, and so the file's name.
pub const IMAGES_KEY: &str = "images.json";

const VERSION: u32 = 1;

/// What the API server takes, with room for names and labels. An image whose configuration leaves no
/// room is not kept.
const MAX_BYTES: usize = (1 << 20) - (16 << 10);

/// What was read of images.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageRecord {
    version: u32,
    images: Vec<RecordedImage>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordedImage {
    digest: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    release: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    variables: Option<BTreeSet<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base: Option<BaseFacts>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    differing_platforms: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verified_with: Option<String>,
    /// Of the image of an external provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provider: Option<ExternalProviderFacts>,
}

impl ImageRecord {
    /// Of images that were read in full; of no other is there anything to keep. Of providers alone only
    /// where the server's image has no digest: what runs pinned may be in the record that this one replaces.
    pub fn from_facts<'p>(
        facts: &ImageFacts,
        providers: impl IntoIterator<Item = &'p ExternalProviderFacts>,
    ) -> Option<Self> {
        let is_whole = facts.inspected && facts.unavailable.is_none();
        let mut images = Vec::new();
        match &facts.digest {
            Some(digest) if is_whole => images.push(RecordedImage {
                digest: digest.clone(),
                release: facts.release.clone(),
                variables: facts.variables.clone(),
                base: facts.base.clone(),
                differing_platforms: facts.differing_platforms.clone(),
                verified_with: facts.verified_with.clone(),
                provider: None,
            }),
            Some(_) => return None,
            None => {}
        }
        for facts in providers.into_iter().filter(|facts| facts.unavailable.is_none()) {
            let Some(digest) = facts.digest.clone() else { continue };
            let provider = Some(facts.clone());
            images.push(RecordedImage { digest, provider, ..RecordedImage::default() });
        }
        (!images.is_empty()).then_some(Self { version: VERSION, images })
    }

    /// As it stands in the ConfigMap, where there is room for it.
    pub fn text(&self) -> Option<String> {
        let text = serde_json::to_string(self).expect("a record has string keys only");
        (text.len() <= MAX_BYTES).then_some(text)
    }

    /// Nothing where the text is no record, or one of another version.
    pub fn parse(text: &str) -> Option<Self> {
        let record: Self = serde_json::from_str(text).ok().filter(|_| text.len() <= MAX_BYTES)?;
        (record.version == VERSION).then_some(record)
    }

    /// What was read of the image with this digest.
    pub fn facts(&self, digest: &str) -> Option<ImageFacts> {
        let mut images = self.images.iter().filter(|image| image.provider.is_none());
        let image = images.find(|image| image.digest == digest)?.clone();
        Some(ImageFacts {
            digest: Some(image.digest),
            release: image.release,
            variables: image.variables,
            base: image.base,
            inspected: true,
            differing_platforms: image.differing_platforms,
            verified_with: image.verified_with,
            ..ImageFacts::default()
        })
    }

    /// What was read of an external provider's image with this digest.
    pub fn provider(&self, digest: &str) -> Option<ExternalProviderFacts> {
        let image =
            self.images.iter().find(|image| image.digest == digest && image.provider.is_some());
        image?.provider.clone()
    }
}

/// The name of the record with this hash.
pub fn name(resource: &str, hash: &str) -> String {
    format!("{}{}", prefix(resource), hash.get(..8).unwrap_or(hash))
}

fn prefix(resource: &str) -> String {
    format!("{resource}-images-")
}

/// Whether a ConfigMap of this name is a record of the resource's images.
pub fn is_record(name: &str, resource: &str) -> bool {
    name.starts_with(&prefix(resource))
}

/// The ConfigMap for a record's text under its hash. As with a configuration, other content is another
/// object.
pub fn object(resource: &Resource, text: &str, hash: &str) -> Option<PlannedObject> {
    let owner = Owner::from_resource(resource);
    let mut metadata = owner.owned(name(owner.name, hash));
    metadata.labels = Some(labels::of_component(owner.name, "images"));
    metadata.annotations = Some([(labels::IMAGES_HASH.into(), hash.to_owned())].into());
    let object = ConfigMap {
        metadata,
        data: Some([(IMAGES_KEY.into(), text.to_owned())].into()),
        immutable: Some(true),
        ..Default::default()
    };
    planned(ObjectKind::ConfigMap, Some(&object))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::facts::BaseSource;

    fn facts() -> ImageFacts {
        ImageFacts {
            digest: Some("sha256:0".into()),
            release: Some("0.7.3".into()),
            variables: Some(["HOME".to_owned()].into()),
            base: Some(BaseFacts {
                text: "version: 2\n".into(),
                source: BaseSource::Labels,
                found_in: Some("io.llamastack.config.base64".into()),
            }),
            inspected: true,
            differing_platforms: vec!["linux/arm64".into()],
            ..ImageFacts::default()
        }
    }

    #[test]
    fn what_is_read_back_is_what_the_registry_said() {
        let text = ImageRecord::from_facts(&facts(), []).unwrap().text().unwrap();
        let record = ImageRecord::parse(&text).unwrap();
        assert_eq!(record.facts("sha256:0"), Some(facts()));
        assert_eq!(record.facts("sha256:1"), None);
        let bare =
            ImageFacts { digest: Some("sha256:1".into()), inspected: true, ..<_>::default() };
        let text = ImageRecord::from_facts(&bare, []).unwrap().text().unwrap();
        assert_eq!(text, r#"{"version":1,"images":[{"digest":"sha256:1"}]}"#);
        assert_eq!(ImageRecord::parse(&text).unwrap().facts("sha256:1"), Some(bare));
    }

    #[test]
    fn what_was_read_of_external_providers_is_kept_beside_it() {
        let provider = |digest: &str| ExternalProviderFacts {
            digest: Some(digest.to_owned()),
            package_file: Some("kind: ProviderPackage\n".to_owned()),
            ..ExternalProviderFacts::default()
        };
        let away =
            ExternalProviderFacts { unavailable: Some("away".to_owned()), ..provider("sha256:8") };
        let text =
            ImageRecord::from_facts(&facts(), [&provider("sha256:7"), &away]).unwrap().text();
        let record = ImageRecord::parse(&text.unwrap()).unwrap();
        assert_eq!(record.provider("sha256:7"), Some(provider("sha256:7")));
        assert_eq!(record.provider("sha256:8"), None);
        assert_eq!((record.facts("sha256:7"), record.facts("sha256:0")), (None, Some(facts())));

        let server = ImageFacts { unavailable: Some("away".into()), ..<_>::default() };
        let alone = ImageRecord::from_facts(&server, [&provider("sha256:7")]).unwrap();
        assert_eq!(alone.provider("sha256:7"), Some(provider("sha256:7")));
        let pinned = ImageFacts { digest: Some("sha256:0".into()), ..server };
        assert_eq!(ImageRecord::from_facts(&pinned, [&provider("sha256:7")]), None);
    }

    #[test]
    fn only_what_was_read_in_full_and_has_room_is_kept() {
        let unpinned = ImageFacts { digest: None, ..facts() };
        let failed = ImageFacts { unavailable: Some("gone".into()), ..facts() };
        let unread = ImageFacts { inspected: false, ..facts() };
        for facts in [unpinned, failed, unread] {
            assert_eq!(ImageRecord::from_facts(&facts, []), None);
        }
        let mut large = facts();
        large.base.as_mut().unwrap().text = "\n".repeat(MAX_BYTES / 2);
        assert_eq!(ImageRecord::from_facts(&large, []).unwrap().text(), None);
    }

    #[test]
    fn a_later_operator_may_add_to_it_and_change_its_version() {
        let later = json!({"version": 1, "signed": true, "images": [
            {"digest": "sha256:9", "kind": "Provider", "labels": {"a": "b"}},
            {"digest": "sha256:1", "layers": 3},
        ]});
        let record = ImageRecord::parse(&later.to_string()).unwrap();
        assert!(record.facts("sha256:1").is_some());
        for other in [r#"{"version": 2, "images": []}"#, "{}", "", r#"{"version": "1"}"#] {
            assert_eq!(ImageRecord::parse(other), None, "{other}");
        }
    }

    #[test]
    fn it_belongs_to_its_resource() {
        let resource = json!({"metadata": {"name": "llama", "namespace": "ns", "uid": "u"}});
        let resource = Resource::parse(&resource);
        let text = ImageRecord::from_facts(&facts(), []).unwrap().text().unwrap();
        let object = object(&resource, &text, "0123456789abcdef").unwrap();
        assert_eq!(object.name, "llama-images-01234567");
        assert_eq!(object.json["immutable"], true);
        assert_eq!(object.json["metadata"]["ownerReferences"][0]["uid"], "u");
        assert!(is_record(&object.name, "llama") && !is_record(&object.name, "other"));
        assert_eq!(object.json["metadata"]["labels"][labels::MANAGED_BY], labels::OPERATOR);
        let hash = &object.json["metadata"]["annotations"][labels::IMAGES_HASH];
        assert_eq!(hash, "0123456789abcdef");
    }
}
