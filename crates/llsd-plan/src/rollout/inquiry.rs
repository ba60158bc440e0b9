//! What a registry has to be asked about the image of a resource. Of what runs nothing, once it was read:
//! a change of the image asks the registry, and so does a tag that may have moved, but what is known of
//! the running image serves where nobody answers.

use super::running_server::{PinnedImage, RunningServer};

/// What has to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inquiry {
    /// Nothing: what runs stays, and was read before. The status tells where its tag points by now.
    Nothing { has_tag: bool },
    /// The image that runs, by its digest, of which nothing is known any more.
    Running { digest: String, has_tag: bool },
    /// The image that the resource names. Without an answer the one that runs may stay.
    Named { or_running: bool },
}

/// What runs of the image that a resource names, by its digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningImage {
    pub digest: String,
    /// The resource names it by a tag, or by nothing but its repository.
    pub has_tag: bool,
}

impl RunningImage {
    /// `named` is the digest by which the resource itself names its image.
    pub fn from_pinned(running: Option<&PinnedImage>, named: Option<&str>) -> Option<Self> {
        match (running?, named) {
            (PinnedImage::Digest(digest), None) => {
                Some(Self { digest: digest.clone(), has_tag: true })
            }
            (_, Some(named)) => Some(Self { digest: named.to_owned(), has_tag: false }),
            (PinnedImage::Unpinned, None) => None,
        }
    }
}

impl Inquiry {
    /// `is_read` says whether it is known what was read of the image that runs.
    pub fn for_image(
        running_server: &RunningServer<'_>,
        running: Option<&RunningImage>,
        is_read: bool,
    ) -> Self {
        let Some(RunningImage { digest, has_tag }) = running else {
            return Self::Named { or_running: false };
        };
        let stays = running_server.keeps_image() || !has_tag;
        match (stays, is_read) {
            (true, true) => Self::Nothing { has_tag: *has_tag },
            (true, false) => Self::Running { digest: digest.clone(), has_tag: *has_tag },
            // Whoever asks for an image to be resolved again is not served with the old one.
            (false, is_read) => Self::Named { or_running: is_read && !running_server.asks_again() },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::live::LiveObject;
    use crate::objects::{ObjectKind, labels};
    use crate::resource::{REFRESH, Resource};

    const DIGEST: &str = "sha256:0";

    /// For a resource of generation 2, whose Deployment was planned for `planned_for`.
    fn asked(planned_for: &str, refresh: Option<&str>, running: &str, is_read: bool) -> Inquiry {
        let mut resource = json!({"metadata": {"name": "llama", "generation": 2}});
        if let Some(refresh) = refresh {
            resource["metadata"]["annotations"] = json!({REFRESH: refresh});
        }
        let deployment = json!({
            "metadata": {
                "name": "llama", "namespace": "ns",
                "annotations": {labels::PLANNED_FOR: planned_for},
            },
            "spec": {"selector": {"matchLabels": {labels::INSTANCE: "llama"}}},
        });
        let (_, live) = LiveObject::parse(ObjectKind::Deployment, &deployment).unwrap();
        let live = [live];
        let running_server = RunningServer::find(&Resource::parse(&resource), &live);
        let pinned = PinnedImage::Digest(DIGEST.to_owned());
        let running = match running {
            "tag" => RunningImage::from_pinned(Some(&pinned), None),
            "digest" => RunningImage::from_pinned(Some(&PinnedImage::Unpinned), Some(DIGEST)),
            "unpinned" => RunningImage::from_pinned(Some(&PinnedImage::Unpinned), None),
            _ => None,
        };
        Inquiry::for_image(&running_server, running.as_ref(), is_read)
    }

    #[test]
    fn only_a_change_of_the_image_needs_the_registry() {
        let nothing = |has_tag| Inquiry::Nothing { has_tag };
        let named = |or_running| Inquiry::Named { or_running };
        let running = |has_tag| Inquiry::Running { digest: DIGEST.to_owned(), has_tag };
        // At rest, also after a restart.
        assert_eq!(asked("2", None, "tag", true), nothing(true));
        assert_eq!(asked("2", None, "digest", true), nothing(false));
        assert_eq!(asked("2", None, "tag", false), running(true));
        // Another number of replicas: a tag may have moved, a digest cannot.
        assert_eq!(asked("1", None, "tag", true), named(true));
        assert_eq!(asked("1", None, "tag", false), named(false));
        assert_eq!(asked("1", None, "digest", true), nothing(false));
        assert_eq!(asked("1", None, "digest", false), running(false));
        // Another image, or none that is known.
        assert_eq!(asked("1", None, "", true), named(false));
        assert_eq!(asked("2", None, "unpinned", true), named(false));
        // Asked for by the annotation, at once or with the next look.
        assert_eq!(asked("2", Some("now"), "tag", true), named(false));
        let resolved = Resource::parse(&json!({"metadata": {
            "generation": 1, "annotations": {REFRESH: "now"},
        }}));
        let before = resolved.state().unwrap();
        assert_eq!(asked(&before, Some("now"), "tag", true), named(true));
        assert_eq!(asked(&before, Some("later"), "tag", true), named(false));
    }
}
