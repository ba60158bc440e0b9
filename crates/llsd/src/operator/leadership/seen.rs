//! What is known of the Lease and since when. No request is made here.

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use tokio::time::Instant;

/// The Lease as last seen.
#[derive(Debug)]
pub(super) struct Seen {
    /// `None` while there is none.
    pub(super) lease: Option<Lease>,
    /// Its content, kept when it was deleted. `None` if there never was one.
    pub(super) content: Option<LeaseSpec>,
    /// When the content was last seen to change, by our monotonic clock. Not the resource's
    /// version: a label that someone adds is no sign of life of the holder.
    pub(super) changed_at: Instant,
}

impl Seen {
    pub(super) fn nothing(now: Instant) -> Self {
        Self { lease: None, content: None, changed_at: now }
    }

    /// Takes in what the API server answered. `now` is read after its answer: to have seen it later
    /// only means to wait for longer.
    pub(super) fn update(&mut self, found: Option<Lease>, now: Instant) {
        let content = found.as_ref().map(|lease| lease.spec.clone().unwrap_or_default());
        let came_or_went = found.is_some() != self.lease.is_some();
        if came_or_went || (content.is_some() && content != self.content) {
            self.changed_at = now;
        }
        self.content = content.or(self.content.take());
        self.lease = found;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn lease(holder: &str, version: &str) -> Lease {
        let mut lease = Lease::default();
        lease.metadata.resource_version = Some(version.to_owned());
        let content =
            LeaseSpec { holder_identity: Some(holder.to_owned()), ..LeaseSpec::default() };
        lease.spec = Some(content);
        lease
    }

    #[test]
    fn only_a_change_of_the_content_is_a_sign_of_life() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut seen = Seen::nothing(start);
        for (at, found, changed_at) in [
            (1, None, 0),
            (2, Some(lease("a", "1")), 2),
            (3, Some(lease("a", "1")), 2),
            (4, Some(lease("a", "2")), 2),
            (5, Some(lease("b", "3")), 5),
            (6, None, 6),
            (7, None, 6),
            (8, Some(lease("b", "4")), 8),
        ] {
            seen.update(found, after(at));
            assert_eq!(seen.changed_at, after(changed_at), "at {at}");
        }
    }

    #[test]
    fn the_content_of_a_deleted_lease_is_remembered() {
        let mut seen = Seen::nothing(Instant::now());
        seen.update(Some(lease("a", "1")), Instant::now());
        seen.update(None, Instant::now());
        assert!(seen.lease.is_none());
        assert_eq!(seen.content.unwrap().holder_identity.as_deref(), Some("a"));
    }
}
