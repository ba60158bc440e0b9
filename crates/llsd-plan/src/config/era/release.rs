//! What is said of the server inside an image: which of the two servers it is, and its release.
//! `0.6.1` is llama-stack's, `ogx-1.5.0` is OGX's, and `ogx` is OGX of a release that nobody knows.

use super::super::catalogue::Catalogue;

/// The two servers that images hold. OGX is llama-stack under the name that it has since 1.0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Server {
    #[default]
    LlamaStack,
    Ogx,
}

/// How releases of OGX are told from others.
const OGX: &str = "ogx";
/// From here on a number can only be OGX's, or of an image that counts by itself.
const FIRST_OF_OGX: u32 = 1;

/// A release as it was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Said {
    /// Nothing where a bare number may be the image's own.
    pub(super) server: Option<Server>,
    /// Major, minor and patch, as far as they are numbers.
    number: Option<(u32, u32, Option<u32>)>,
}

impl Said {
    pub(super) fn parse(text: &str) -> Self {
        let text = text.trim();
        let of_ogx = text.strip_prefix(OGX).map(|rest| rest.trim_start_matches(['-', ' ']));
        let number = number(of_ogx.unwrap_or(text));
        let server = match (of_ogx, number) {
            (Some(_), _) => Some(Server::Ogx),
            (None, Some((major, ..))) if major < FIRST_OF_OGX => Some(Server::LlamaStack),
            _ => None,
        };
        Self { server, number }
    }

    /// Whether the release is at least this one.
    pub(super) fn is_since(&self, release: (u32, u32, u32)) -> bool {
        self.number.is_some_and(|(major, minor, patch)| {
            (major, minor, patch.unwrap_or_default()) >= release
        })
    }

    /// The catalogue that stands for the release of a server: the one of its minor, and in 0.2 of
    /// its layout.
    pub(super) fn catalogue(&self, server: Server) -> Option<&'static Catalogue> {
        let name = match (server, self.number?) {
            (Server::LlamaStack, number) => match number {
                (0, 0 | 1, _) => "0.2.12",
                (0, 2, Some(patch)) if patch <= 12 => "0.2.12",
                (0, 2, _) => "0.2.24",
                (0, 3, _) => "0.3.5",
                (0, 4, _) => "0.4.7",
                (0, 5, _) => "0.5.4",
                (0, 6, _) => "0.6.1",
                (0, 7, _) => "0.7.3",
                _ => return None,
            },
            (Server::Ogx, (1, minor, _)) => match minor {
                0 => "ogx-1.0.4",
                1 => "ogx-1.1.3",
                2 => "ogx-1.2.5",
                3 => "ogx-1.3.1",
                4 => "ogx-1.4.1",
                5 => "ogx-1.5.0",
                _ => return None,
            },
            (Server::Ogx, _) => return None,
        };
        Catalogue::of(name)
    }
}

fn number(text: &str) -> Option<(u32, u32, Option<u32>)> {
    let mut parts = text.trim_start_matches('v').split(['.', '-', '+']);
    let mut number = || parts.next()?.parse::<u32>().ok();
    Some((number()?, number()?, number()))
}

/// Whether a release is one whose provider types are known.
pub fn is_known(release: &str) -> bool {
    let said = Said::parse(release);
    said.server.is_some_and(|server| said.catalogue(server).is_some())
}

/// The server that a release is of, where that can be told from it alone.
pub fn server_of(release: &str) -> Option<Server> {
    Said::parse(release).server
}

/// The release of OGX with this number, or none: `ogx-1.5.0`, `ogx`.
pub fn of_ogx(release: Option<&str>) -> String {
    match release.map(str::trim).filter(|release| number(release).is_some()) {
        Some(release) => format!("{OGX}-{}", release.trim_start_matches('v')),
        None => OGX.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("0.6.1", Some(Server::LlamaStack), Some("0.6.1"))]
    #[case("v0.7.0-rc1", Some(Server::LlamaStack), Some("0.7.3"))]
    #[case("ogx-1.5.0", Some(Server::Ogx), Some("ogx-1.5.0"))]
    #[case("ogx-v1.0.0", Some(Server::Ogx), Some("ogx-1.0.4"))]
    #[case("ogx-1.4", Some(Server::Ogx), Some("ogx-1.4.1"))]
    #[case("ogx", Some(Server::Ogx), None)]
    #[case("ogx-9.0.0", Some(Server::Ogx), None)]
    #[case("ogx-0.7.3", Some(Server::Ogx), None)]
    #[case("1.5.0", None, None)]
    #[case("latest", None, None)]
    fn a_release_says_which_server_it_is_of(
        #[case] text: &str,
        #[case] server: Option<Server>,
        #[case] catalogue: Option<&str>,
    ) {
        let said = Said::parse(text);
        assert_eq!(said.server, server);
        let of_server = server.and_then(|server| said.catalogue(server));
        assert_eq!(of_server.map(|catalogue| catalogue.release.as_str()), catalogue);
        assert_eq!(is_known(text), catalogue.is_some());
    }

    #[test]
    fn a_patch_that_is_not_named_may_be_the_first() {
        assert!(Said::parse("ogx-1.4.1").is_since((1, 4, 1)));
        assert!(Said::parse("ogx-2.0.0").is_since((1, 4, 1)));
        assert!(!Said::parse("ogx-1.4").is_since((1, 4, 1)));
        assert!(!Said::parse("ogx").is_since((1, 4, 1)));
        assert_eq!(of_ogx(Some("v1.5.0")), "ogx-1.5.0");
        assert_eq!(of_ogx(Some("ubi9")), "ogx");
    }
}
