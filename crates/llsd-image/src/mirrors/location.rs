//! Hosts with a wildcard, repository prefixes, and the parts of an image reference: what mirror
//! rules are matched with, and the places that come out of it.

use std::borrow::Cow;

/// One place to look for an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// `host[:port]/repository/path`: what a [`Keyring`](crate::credentials::Keyring) is asked
    /// with, so that a source's credential is never shown to its mirror.
    pub repository: String,
    /// The repository with the tag and digest that were asked for.
    pub reference: String,
    pub is_mirror: bool,
}

impl Candidate {
    /// `host[:port]`.
    pub fn host(&self) -> &str {
        self.repository.split('/').next().unwrap_or_default()
    }
}

/// `host[:port]`, or `*.domain[:port]` for every host below a domain, however deep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern {
    /// With the leading dot where a wildcard stood; lower case.
    host: String,
    wildcard: bool,
}

impl HostPattern {
    /// Every host there is: for the command line, whose user may reach whatever the machine can.
    pub fn every() -> Self {
        Self { host: String::new(), wildcard: true }
    }

    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let (wildcard, host) = match text.strip_prefix('*') {
            Some(domain) if domain.starts_with('.') => (true, domain),
            _ => (false, text),
        };
        if !is_host(host.trim_start_matches(if wildcard { "." } else { "" })) {
            return Err("must be host[:port], or *.domain[:port] for every host below it");
        }
        Ok(Self { host: canonical_host(host).to_ascii_lowercase(), wildcard })
    }

    pub fn matches(&self, host: &str) -> bool {
        let host = canonical_host(host).to_ascii_lowercase();
        if self.wildcard {
            host.len() > self.host.len() && host.ends_with(&self.host)
        } else {
            host == self.host
        }
    }
}

/// A host and the beginning of a repository path, in whole components.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RepositoryPrefix {
    host: HostPattern,
    /// Without a leading slash; empty for the whole host.
    path: String,
}

impl RepositoryPrefix {
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let (host, path) = text.split_once('/').unwrap_or((text, ""));
        let host = HostPattern::parse(host)?;
        if host.wildcard && text.contains('/') {
            return Err("a wildcard stands for whole hosts and takes no path");
        }
        if text.contains('/') && !is_path(path) {
            return Err("the path must be repository components, without a tag or digest");
        }
        Ok(Self { host, path: path.to_owned() })
    }

    pub(crate) fn covers(&self, image: &ImageName<'_>) -> bool {
        self.host.matches(image.host)
            && image.path.strip_prefix(self.path.as_str()).is_some_and(|rest| {
                self.path.is_empty() || rest.is_empty() || rest.starts_with('/')
            })
    }

    pub(super) fn specificity(&self) -> (bool, usize, usize) {
        (!self.host.wildcard, self.host.host.len(), self.path.len())
    }

    /// What comes after this source in an image that it covers: empty, or with a leading slash.
    pub(super) fn rest_of(&self, image: &ImageName<'_>) -> String {
        let rest = image.path.strip_prefix(self.path.as_str()).unwrap_or_default();
        if rest.is_empty() || rest.starts_with('/') { rest.to_owned() } else { format!("/{rest}") }
    }
}

/// A mirror is a place, so nothing in it is left open.
pub(super) fn check_mirror(text: &str) -> Result<(), &'static str> {
    match RepositoryPrefix::parse(text) {
        Ok(location) if location.host.wildcard => Err("a mirror takes no wildcard"),
        Ok(_) => Ok(()),
        Err(message) => Err(message),
    }
}

/// An image reference in its parts. Never fails: what is no reference at all is for the pull
/// client to refuse, in its own words.
pub(crate) struct ImageName<'a> {
    host: &'a str,
    path: Cow<'a, str>,
    /// Tag and digest as they were written, with their `:` and `@`.
    suffix: &'a str,
}

impl<'a> ImageName<'a> {
    pub(crate) fn split(reference: &'a str) -> Self {
        let digest_at = reference.find('@').unwrap_or(reference.len());
        let name = &reference[..digest_at];
        let last = name.rfind('/').map_or(0, |slash| slash + 1);
        let tag_at = name[last..].find(':').map_or(digest_at, |colon| last + colon);
        let (name, suffix) = reference.split_at(tag_at);
        match name.split_once('/') {
            Some((host, path)) if host == "localhost" || host.contains(['.', ':']) => {
                let host = canonical_host(host);
                let official = host == "docker.io" && !path.contains('/');
                let path = if official { format!("library/{path}").into() } else { path.into() };
                Self { host, path, suffix }
            }
            Some(_) => Self { host: "docker.io", path: name.into(), suffix },
            None => Self { host: "docker.io", path: format!("library/{name}").into(), suffix },
        }
    }

    pub(super) fn has_digest(&self) -> bool {
        self.suffix.contains('@')
    }

    pub(super) fn repository(&self) -> String {
        format!("{}/{}", self.host, self.path)
    }

    pub(super) fn at(&self, repository: String, is_mirror: bool) -> Candidate {
        Candidate { reference: format!("{repository}{}", self.suffix), repository, is_mirror }
    }
}

/// References call Docker Hub by one name.
fn canonical_host(host: &str) -> &str {
    if host == "index.docker.io" { "docker.io" } else { host }
}

fn is_host(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let Some((address, after)) = rest.split_once(']') else { return false };
            if address.parse::<std::net::Ipv6Addr>().is_err() {
                return false;
            }
            ("ipv6", after.strip_prefix(':').or(after.is_empty().then_some("0")))
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, Some("0")),
        },
    };
    let is_label = |label: &str| {
        let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !label.is_empty()
            && label.bytes().all(inner)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    host.split('.').all(is_label) && port.is_some_and(|port| port.parse::<u16>().is_ok())
}

fn is_path(text: &str) -> bool {
    let inner = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'_' | b'-')
    };
    text.split('/').all(|component| {
        component.bytes().all(inner)
            && component.starts_with(|c: char| c.is_ascii_alphanumeric())
            && component.ends_with(|c: char| c.is_ascii_alphanumeric())
    })
}
