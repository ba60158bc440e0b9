//! What an image states of the server inside: which of the two it is, and its release. `0.6.1` is
//! llama-stack's, `ogx-1.5.0` is OGX's, and `ogx` is OGX of a release that nobody knows.

use super::number::{Number, OGX, ServerFamily};
use super::set::Releases;
use super::table::Release;
use crate::values::image_name::split_digest;

/// From here on a number can only be OGX's, or of an image that counts by itself.
const FIRST_OF_OGX: u32 = 1;

/// A release as an image states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stated {
    /// Nothing where a bare number may be the image's own.
    pub(super) server: Option<ServerFamily>,
    /// Major, minor and patch, as far as they are numbers.
    number: Option<(u32, u32, Option<u32>)>,
}

impl Stated {
    pub(super) fn parse(text: &str) -> Self {
        let text = text.trim();
        let of_ogx = text.strip_prefix(OGX).map(|rest| rest.trim_start_matches(['-', ' ']));
        let number = number(of_ogx.unwrap_or(text));
        let server = match (of_ogx, number) {
            (Some(_), _) => Some(ServerFamily::Ogx),
            (None, Some((major, ..))) if major < FIRST_OF_OGX => Some(ServerFamily::LlamaStack),
            _ => None,
        };
        Self { server, number }
    }

    /// The release as one of this server; a patch that is not stated may be the first.
    pub(super) fn at(self, server: ServerFamily) -> Option<Number> {
        let (major, minor, patch) = self.number?;
        Some(Number { server, major, minor, patch: patch.unwrap_or_default() })
    }

    /// The release that stands for the stated one: the next of its minor version, or the last. What
    /// came before the first of all is taken for it.
    pub(super) fn release(self, releases: &Releases, server: ServerFamily) -> Option<&Release> {
        let (major, minor, patch) = self.number?;
        let of_major = |row: &&Release| row.server == server && row.number.major == major;
        let rows = releases.all().iter().filter(of_major);
        let first = rows.clone().next()?;
        if minor < first.number.minor {
            return Some(first);
        }
        let same: Vec<&Release> = rows.filter(|row| row.number.minor == minor).collect();
        let next = same.iter().find(|row| patch.is_some_and(|patch| patch <= row.number.patch));
        next.or(same.last()).copied()
    }
}

fn number(text: &str) -> Option<(u32, u32, Option<u32>)> {
    let mut parts = text.trim_start_matches('v').split(['.', '-', '+']);
    let mut number = || parts.next()?.parse::<u32>().ok();
    Some((number()?, number()?, number()))
}

/// Whether a release is one whose provider types are known.
pub fn is_known(release: &str) -> bool {
    let stated = Stated::parse(release);
    let known = |server| stated.release(Releases::shipped(), server).is_some();
    stated.server.is_some_and(known)
}

/// The row of the table that stands for a release, where there is one.
pub fn row_of(releases: &'static Releases, release: &str) -> Option<&'static Release> {
    let stated = Stated::parse(release);
    stated.release(releases, stated.server?)
}

/// The server that a release is of, where that can be told from it alone.
pub fn server_of(release: &str) -> Option<ServerFamily> {
    Stated::parse(release).server
}

/// How the tags of what comes before a release go on after its number.
const BEFORE_A_RELEASE: [&str; 6] = ["rc", "alpha", "beta", "dev", "pre", "nightly"];

/// Whether what an image states is a release of the table, however it was built; nothing where it states
/// no release of a server.
pub fn is_of_release(stated: &str, release: &str) -> Option<bool> {
    let parsed = Stated::parse(stated);
    parsed.server.and(parsed.number)?;
    let plain = |text: &str| {
        let text = text.trim();
        text.strip_prefix(OGX).unwrap_or(text).trim_start_matches(['-', ' ', 'v']).to_owned()
    };
    let is_build = |rest: &str| {
        let build = rest.strip_prefix(['-', '+']);
        rest.is_empty()
            || build.is_some_and(|it| !BEFORE_A_RELEASE.iter().any(|word| it.starts_with(word)))
    };
    let is_same_server = parsed.server == server_of(release);
    Some(is_same_server && plain(stated).strip_prefix(&plain(release)).is_some_and(is_build))
}

/// The release of OGX with this number, or none: `ogx-1.5.0`, `ogx`.
fn of_ogx(release: Option<&str>) -> String {
    match release.map(str::trim).filter(|release| number(release).is_some()) {
        Some(release) => format!("{OGX}-{}", release.trim_start_matches('v')),
        None => OGX.to_owned(),
    }
}

/// The release of the server inside an image, as far as it is stated: by `label`, the image's
/// version label, else by its tag. A name that speaks of OGX tells the server, for a number alone
/// may also be the image's own.
pub fn release_of(image: &str, label: Option<&str>) -> Option<String> {
    release_of_server(image, label, None)
}

/// As [`release_of`], for an image that is known to hold this server.
pub fn release_of_server(
    image: &str,
    label: Option<&str>,
    server: Option<ServerFamily>,
) -> Option<String> {
    let tag = release_of_tag(image);
    let is_ogx = server == Some(ServerFamily::Ogx) || names_ogx(image);
    if label.is_some_and(|label| server_of(label).is_some()) || !is_ogx {
        return label.or(tag).map(str::to_owned);
    }
    let is_number = |release: &&str| number(release.trim()).is_some();
    Some(of_ogx(label.filter(is_number).or(tag)))
}

/// Whether a part of the image's path is a word that begins with `ogx`.
fn names_ogx(image: &str) -> bool {
    let (name, _) = split_digest(image);
    let path = name.split_once('/').map_or(name, |(_, path)| path);
    let path = path.rsplit_once(':').map_or(path, |(path, _)| path);
    path.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word.starts_with(OGX))
}

/// The release that an image's tag names, if it is one: `0.6.1`, `v0.6.1-rc1`.
fn release_of_tag(image: &str) -> Option<&str> {
    let (name, _) = split_digest(image);
    let tag = name.rsplit_once(':').map(|(_, tag)| tag).filter(|tag| !tag.contains('/'))?;
    let numbers = tag.trim_start_matches('v').split(['-', '+']).next()?;
    let parts: Vec<&str> = numbers.split('.').collect();
    let is_release = (2..=4).contains(&parts.len())
        && parts.iter().take(2).all(|part| part.parse::<u32>().is_ok());
    is_release.then_some(tag)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("0.6.1", Some(ServerFamily::LlamaStack), Some("0.6.1"))]
    #[case("v0.7.0-rc1", Some(ServerFamily::LlamaStack), Some("0.7.3"))]
    #[case("0.1.9", Some(ServerFamily::LlamaStack), Some("0.2.12"))]
    #[case("0.2.12", Some(ServerFamily::LlamaStack), Some("0.2.12"))]
    #[case("0.2.13", Some(ServerFamily::LlamaStack), Some("0.2.24"))]
    #[case("0.2", Some(ServerFamily::LlamaStack), Some("0.2.24"))]
    #[case("0.8.0", Some(ServerFamily::LlamaStack), None)]
    #[case("ogx-1.5.0", Some(ServerFamily::Ogx), Some("ogx-1.5.0"))]
    #[case("ogx-v1.0.0", Some(ServerFamily::Ogx), Some("ogx-1.0.4"))]
    #[case("ogx-1.4", Some(ServerFamily::Ogx), Some("ogx-1.4.1"))]
    #[case("ogx", Some(ServerFamily::Ogx), None)]
    #[case("ogx-9.0.0", Some(ServerFamily::Ogx), None)]
    #[case("ogx-0.7.3", Some(ServerFamily::Ogx), None)]
    #[case("1.5.0", None, None)]
    #[case("latest", None, None)]
    fn a_release_says_which_server_it_is_of(
        #[case] text: &str,
        #[case] server: Option<ServerFamily>,
        #[case] name: Option<&str>,
    ) {
        let stated = Stated::parse(text);
        assert_eq!(stated.server, server);
        let release = server.and_then(|server| stated.release(Releases::shipped(), server));
        assert_eq!(release.map(|release| release.name.as_str()), name);
        assert_eq!(is_known(text), name.is_some());
    }

    #[test]
    fn a_patch_that_is_not_named_may_be_the_first() {
        let first = Number::try_from("ogx-1.4.1").unwrap();
        let is_since =
            |text: &str| Stated::parse(text).at(ServerFamily::Ogx).is_some_and(|at| at >= first);
        assert!(is_since("ogx-1.4.1"));
        assert!(is_since("ogx-2.0.0"));
        assert!(!is_since("ogx-1.4"));
        assert!(!is_since("ogx"));
        assert_eq!(of_ogx(Some("v1.5.0")), "ogx-1.5.0");
        assert_eq!(of_ogx(Some("ubi9")), "ogx");
    }

    #[rstest]
    #[case("0.7.3", "0.7.3", Some(true))]
    #[case("v0.7.3-ubi9", "0.7.3", Some(true))]
    #[case("0.7.3+1", "0.7.3", Some(true))]
    #[case("0.7.3-rc1", "0.7.3", Some(false))]
    #[case("0.7.3.dev2", "0.7.3", Some(false))]
    #[case("0.7.30", "0.7.3", Some(false))]
    #[case("0.7", "0.7.3", Some(false))]
    #[case("ogx-v1.5.0", "ogx-1.5.0", Some(true))]
    #[case("ogx-0.7.3", "0.7.3", Some(false))]
    #[case("ogx", "ogx-1.5.0", None)]
    #[case("24.04", "0.7.3", None)]
    #[case("latest", "0.7.3", None)]
    fn a_build_of_a_release_is_of_it_and_what_came_before_is_not(
        #[case] stated: &str,
        #[case] release: &str,
        #[case] is_same: Option<bool>,
    ) {
        assert_eq!(is_of_release(stated, release), is_same);
    }

    #[rstest]
    #[case("docker.io/llamastack/distribution-starter:0.6.1", Some("0.6.1"))]
    #[case("localhost:5000/starter", None)]
    #[case("localhost:5000/starter:v0.7.0-rc1@sha256:0", Some("v0.7.0-rc1"))]
    #[case("starter:latest", None)]
    #[case("starter:2024-01-01", None)]
    fn a_tag_that_is_a_release_tells_it(#[case] image: &str, #[case] release: Option<&str>) {
        assert_eq!(release_of_tag(image), release);
    }

    #[rstest]
    #[case("docker.io/ogxai/distribution-starter:1.5.0", None, Some("ogx-1.5.0"))]
    #[case("quay.io/me/my-ogx:latest", None, Some("ogx"))]
    #[case("quay.io/me/my-ogx:7", Some("v1.2.5"), Some("ogx-1.2.5"))]
    #[case("quay.io/me/my-ogx:1.2.5", Some("ubi9"), Some("ogx-1.2.5"))]
    #[case("quay.io/me/my-ogx:1.2.5", Some("0.7.3"), Some("0.7.3"))]
    #[case("quay.io/me/stack:1.5.0", None, Some("1.5.0"))]
    #[case("quay.io/me/stack:1.5.0", Some("ogx-1.4.1"), Some("ogx-1.4.1"))]
    #[case("ogx.example.com/me/stack", None, None)]
    fn an_images_name_may_tell_the_server(
        #[case] image: &str,
        #[case] label: Option<&str>,
        #[case] release: Option<&str>,
    ) {
        assert_eq!(release_of(image, label).as_deref(), release);
    }

    #[test]
    fn every_image_of_the_table_is_of_the_release_that_it_says() {
        for distribution in Releases::shipped().distributions.values() {
            let release = release_of(&distribution.image, None);
            assert_eq!(release.as_ref(), Some(&distribution.release));
        }
    }
}
