//! Which releases have which part of `spec.access`, as `access.yaml` says.

use super::detection::ServerProfile;
use super::number::{Number, ServerFamily};
use super::set::Releases;
use super::table::Release;

impl Releases {
    /// The releases that have a part of `spec.access`, the oldest first.
    pub fn with_access(&'static self, part: &str) -> impl Iterator<Item = &'static Release> {
        self.all().iter().filter(move |row| self.has_access(part, row.number))
    }

    fn has_access(&self, part: &str, release: Number) -> bool {
        self.access.get(part).is_some_and(|span| span.contains(release))
    }

    /// The same in words: `llama-stack from 0.5.4 on, and OGX`.
    pub fn named_with_access(&'static self, part: &str) -> String {
        let first = |server| self.with_access(part).find(|row| row.server == server);
        let of_ogx = first(ServerFamily::Ogx).map(|row| {
            let every = self.all().iter().find(|row| row.server == ServerFamily::Ogx);
            let all = every.is_some_and(|every| every.number == row.number);
            if all { "OGX".to_owned() } else { format!("{} and later", row.title) }
        });
        let of_llama_stack = first(ServerFamily::LlamaStack)
            .map(|row| format!("llama-stack {} and later", row.title));
        [of_llama_stack, of_ogx].into_iter().flatten().collect::<Vec<_>>().join(", and ")
    }
}

impl ServerProfile {
    /// Whether the server has a part of `spec.access`.
    pub fn has_access(&self, part: &str) -> bool {
        self.releases.has_access(part, self.catalogue.release.number)
    }

    /// The first and the last release of this server that are known to have all of these parts, and to read
    /// the rules: what another one does must be looked for.
    pub fn known_with_access(
        &self,
        parts: &[&str],
        reads: impl Fn(&'static Release) -> bool,
    ) -> Option<(Number, Number)> {
        let has_all = |row: &&'static Release| {
            row.server == self.server()
                && parts.iter().all(|part| self.releases.has_access(part, row.number))
                && reads(row)
        };
        let first = self.releases.all().iter().find(has_all)?;
        let last = self.releases.all().iter().rfind(has_all)?;
        Some((first.number, last.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_releases_that_have_a_part_are_named() {
        let releases = Releases::shipped();
        for (part, named) in [
            ("oidc", "llama-stack 0.3.5 and later, and OGX"),
            ("routes", "llama-stack 0.5.4 and later, and OGX"),
            ("gateway", "OGX"),
            ("apiKeys", "OGX 1.4.1 and later"),
            ("unknown", ""),
        ] {
            assert_eq!(releases.named_with_access(part), named);
        }
    }

    #[test]
    fn releases_of_one_layout_have_the_same_parts() {
        let releases = Releases::shipped();
        for part in releases.access.keys() {
            let has = |row: &Release| releases.with_access(part).any(|it| it.number == row.number);
            for rows in releases.all().windows(2).filter(|rows| rows[0].layout == rows[1].layout) {
                assert_eq!(has(&rows[0]), has(&rows[1]), "{part} in {}", rows[0].layout);
            }
        }
    }
}
