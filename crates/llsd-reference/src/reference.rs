//! Image references as people write them, with Docker Hub's defaults filled in.

use std::{fmt, str::FromStr};

use crate::{Digest, InvalidReference};

/// Docker Hub under the name that references use, and the host that serves its API.
const DOCKER_HUB: &str = "docker.io";
const DOCKER_HUB_ALIAS: &str = "index.docker.io";
const DOCKER_HUB_API: &str = "registry-1.docker.io";

/// What `docker.io` allows for host and repository together.
const LONGEST_NAME: usize = 255;
const LONGEST_TAG: usize = 128;

/// `host[:port]/repository[:tag][@digest]`. Without tag and digest, the tag is `latest`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reference {
    host: String,
    repository: String,
    tag: Option<String>,
    digest: Option<Digest>,
}

impl Reference {
    /// The registry as the reference names it, `docker.io` for Docker Hub; lower case, with the
    /// port if there is one.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The host to speak to, which for Docker Hub is another one.
    pub fn api_host(&self) -> &str {
        if self.host == DOCKER_HUB { DOCKER_HUB_API } else { &self.host }
    }

    /// The repository within the registry, such as `library/busybox`.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// The tag, if there is one beside or instead of a digest.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// The digest, if the reference is pinned.
    pub fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// Host and repository: what a credential gives access to.
    pub fn name(&self) -> String {
        format!("{}/{}", self.host, self.repository)
    }

    /// What has this digest in the repository, whatever its tag.
    pub fn name_at(&self, digest: &Digest) -> String {
        format!("{}@{digest}", self.name())
    }

    /// The same reference pinned to `digest`.
    #[must_use]
    pub fn pinned(&self, digest: Digest) -> Self {
        Self { digest: Some(digest), ..self.clone() }
    }

    /// The same without its digest; without a tag, that is `latest`.
    #[must_use]
    pub fn without_digest(&self) -> Self {
        let tag = self.tag.clone().or_else(|| Some("latest".to_owned()));
        Self { digest: None, tag, ..self.clone() }
    }

    /// What stands after `/manifests/` in a request: the digest where there is one.
    pub fn manifest_name(&self) -> String {
        match (&self.digest, &self.tag) {
            (Some(digest), _) => digest.to_string(),
            (None, Some(tag)) => tag.clone(),
            (None, None) => "latest".to_owned(),
        }
    }
}

impl FromStr for Reference {
    type Err = InvalidReference;

    fn from_str(text: &str) -> Result<Self, InvalidReference> {
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest.parse()?)),
            None => (text, None),
        };
        // A colon before the last slash is the port's.
        let (name, tag) = match rest.rsplit_once(':') {
            Some((name, tag)) if !tag.contains('/') => (name, Some(valid_tag(tag)?)),
            _ => (rest, None),
        };
        let (host, repository) = split_host(name);
        let (host, repository) = complete(host, repository)?;
        let tag = match (tag, &digest) {
            (None, None) => Some("latest".to_owned()),
            (tag, _) => tag,
        };
        Ok(Self { host, repository, tag, digest })
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.host, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

/// The first part is a host when it could not be a part of a repository on Docker Hub.
fn split_host(name: &str) -> (Option<&str>, &str) {
    match name.split_once('/') {
        Some((first, rest))
            if first.contains(['.', ':'])
                || first == "localhost"
                || first.bytes().any(|byte| byte.is_ascii_uppercase()) =>
        {
            (Some(first), rest)
        }
        _ => (None, name),
    }
}

fn complete(host: Option<&str>, repository: &str) -> Result<(String, String), InvalidReference> {
    let mut host = host.unwrap_or(DOCKER_HUB).to_ascii_lowercase();
    if host == DOCKER_HUB_ALIAS {
        DOCKER_HUB.clone_into(&mut host);
    }
    check_host(&host)?;
    let repository = if host == DOCKER_HUB && !repository.contains('/') {
        format!("library/{repository}")
    } else {
        repository.to_owned()
    };
    if !repository.split('/').all(is_repository_part) {
        return Err(InvalidReference(
            "a repository is lower-case letters, digits and single separators between slashes",
        ));
    }
    if host.len() + 1 + repository.len() > LONGEST_NAME {
        return Err(InvalidReference("host and repository are longer than 255 characters"));
    }
    Ok((host, repository))
}

fn check_host(host: &str) -> Result<(), InvalidReference> {
    let invalid = InvalidReference("the host is not a valid name or address");
    let (name, port) = if let Some(rest) = host.strip_prefix('[') {
        let (address, after) = rest.split_once(']').ok_or(invalid)?;
        address.parse::<std::net::Ipv6Addr>().map_err(|_| invalid)?;
        match after.strip_prefix(':') {
            None if after.is_empty() => return Ok(()),
            None => return Err(invalid),
            Some(port) => (None, Some(port)),
        }
    } else {
        match host.split_once(':') {
            Some((name, port)) => (Some(name), Some(port)),
            None => (Some(host), None),
        }
    };
    let is_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if name.is_some_and(|name| !name.split('.').all(is_label)) {
        return Err(invalid);
    }
    match port {
        Some(port) if !port.bytes().all(|byte| byte.is_ascii_digit()) => Err(invalid),
        Some(port) if port.parse::<u16>().is_ok_and(|port| port > 0) => Ok(()),
        Some(_) => Err(InvalidReference("the port is not between 1 and 65535")),
        None => Ok(()),
    }
}

/// `[a-z0-9]+` runs joined by `.`, `_`, `__` or any number of `-`.
fn is_repository_part(part: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = part.as_bytes();
    let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) else { return false };
    is_plain(first)
        && is_plain(last)
        && bytes.iter().all(|&byte| is_plain(byte) || matches!(byte, b'.' | b'_' | b'-'))
        && bytes.split(|&byte| is_plain(byte)).all(|separator| {
            matches!(separator, b"" | b"." | b"_" | b"__")
                || separator.iter().all(|&byte| byte == b'-')
        })
}

fn valid_tag(tag: &str) -> Result<String, InvalidReference> {
    let mut bytes = tag.bytes();
    let starts_well = bytes.next().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let goes_on_well =
        bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'));
    if starts_well && goes_on_well && tag.len() <= LONGEST_TAG {
        Ok(tag.to_owned())
    } else {
        Err(InvalidReference("the tag is not valid"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn defaults_are_docker_hubs() {
        for (given, full, api) in [
            ("busybox", "docker.io/library/busybox:latest", "registry-1.docker.io"),
            ("llamastack/starter:0.7", "docker.io/llamastack/starter:0.7", "registry-1.docker.io"),
            ("index.docker.io/a/b", "docker.io/a/b:latest", "registry-1.docker.io"),
            ("docker.io/busybox", "docker.io/library/busybox:latest", "registry-1.docker.io"),
            ("localhost/a", "localhost/a:latest", "localhost"),
            ("localhost:5000/a:b", "localhost:5000/a:b", "localhost:5000"),
            ("[::1]:5000/a", "[::1]:5000/a:latest", "[::1]:5000"),
            ("Quay.IO/a/b__c--d.e:V1", "quay.io/a/b__c--d.e:V1", "quay.io"),
        ] {
            let reference: Reference = given.parse().unwrap();
            assert_eq!(reference.to_string(), full);
            assert_eq!(reference.api_host(), api);
            assert_eq!(full.parse::<Reference>().unwrap(), reference);
        }
    }

    #[test]
    fn a_digest_stands_alone_or_beside_a_tag() {
        let pinned: Reference = format!("quay.io/a/b@{DIGEST}").parse().unwrap();
        assert_eq!((pinned.tag(), pinned.manifest_name().as_str()), (None, DIGEST));
        let both: Reference = format!("quay.io/a/b:1@{DIGEST}").parse().unwrap();
        assert_eq!((both.tag(), both.manifest_name().as_str()), (Some("1"), DIGEST));
        assert_eq!(both.to_string(), format!("quay.io/a/b:1@{DIGEST}"));
    }

    #[test]
    fn what_is_no_reference_is_refused() {
        let long = format!("quay.io/{}", "a".repeat(250));
        let tag = format!("a:{}", "b".repeat(129));
        for text in [
            "",
            ":",
            "@",
            "a:",
            "a@",
            "a//b",
            "/a",
            "a/",
            "UPPER",
            "a/B",
            "a..b",
            "a___b",
            "-a",
            "a-",
            "a:-x",
            "a b",
            "quay.io/",
            "quay.io:/a",
            "quay.io:99999/a",
            "quay.io:0/a",
            "quay.io:+1/a",
            "user:pass@quay.io/a",
            "q_a.io/a",
            "a.-b.io/a",
            "..io/a",
            "[::1/a",
            "[::zz]/a",
            "[::1]x/a",
            "https://quay.io/a",
            "a@sha256:12",
            "q.io/../a",
            "é/a",
            &long,
            &tag,
        ] {
            assert!(text.parse::<Reference>().is_err(), "{text}");
        }
    }
}
