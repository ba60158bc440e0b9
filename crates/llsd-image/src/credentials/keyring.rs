//! Which credentials an image may be pulled with, and in which order: the kubelet's matching rules.
//! Nothing here knows where a credential came from, or is asked by more than one tenant.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

use super::Credential;

/// The names under which people have stored credentials for Docker Hub, in the order they are
/// asked when no key matched the image itself. The kubelet knows the first only; the others are
/// what the same registry is called elsewhere.
const HUB_KEYS: [&str; 3] = ["index.docker.io", "docker.io", "registry-1.docker.io"];

/// Credentials by the registry, or part of one, that they are meant for.
///
/// Keys that match an image are tried from the most specific to the least: in reverse
/// lexicographic order, as the kubelet does, so `quay.io/team` comes before `quay.io` and a host
/// before a glob. Credentials under one key are tried in the order they were added. A caller adds
/// the pod's own pull secrets first, then those of its ServiceAccount.
#[derive(Clone, Default)]
pub struct Keyring {
    keys: BTreeMap<Reverse<String>, Slot>,
}

#[derive(Clone)]
struct Slot {
    pattern: Pattern,
    credentials: Vec<Credential>,
}

impl Keyring {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a credential under a key as docker writes it: `host`, `host:port`, `host/path`, with or
    /// without a scheme, `/v1/` and `/v2/` meaning the host itself. `false` if the key is no such
    /// thing; the credential is then dropped.
    pub fn add(&mut self, key: &str, credential: Credential) -> bool {
        let Some((name, pattern)) = normalise(key) else {
            return false;
        };
        let slot = self
            .keys
            .entry(Reverse(name))
            .or_insert_with(|| Slot { pattern, credentials: Vec::new() });
        slot.credentials.push(credential);
        true
    }

    /// Whether [`Keyring::add`] would take this key.
    pub fn accepts(key: &str) -> bool {
        normalise(key).is_some()
    }

    /// The credentials to try for an image given as `host[:port]/repository/path`, in order. A
    /// credential that stands under several matching keys is listed once, where it comes first:
    /// the registry's answer would be the same.
    pub fn candidates(&self, image: &str) -> Vec<Credential> {
        let Some(target) = Pattern::parse(image) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for slot in self.keys.values().filter(|slot| slot.pattern.matches(&target)) {
            append_new(&mut found, &slot.credentials);
        }
        if found.is_empty() && is_docker_hub(image) {
            let named = |key: &&str| self.keys.get(&Reverse((*key).to_owned()));
            if let Some(slot) = HUB_KEYS.iter().find_map(named) {
                append_new(&mut found, &slot.credentials);
            }
        }
        found
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

/// Keys come out of Secrets too, so only their number is shown.
impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keyring({} keys)", self.keys.len())
    }
}

fn append_new(found: &mut Vec<Credential>, more: &[Credential]) {
    for credential in more {
        if !found.contains(credential) {
            found.push(credential.clone());
        }
    }
}

/// The key under which the kubelet would sort this entry, and what it matches.
fn normalise(key: &str) -> Option<(String, Pattern)> {
    let bare = key.strip_prefix("https://").or_else(|| key.strip_prefix("http://")).unwrap_or(key);
    let (authority, path) = split_url(bare)?;
    // `/v1/` and `/v2/` are the registry API's own roots; `/v1` without the slash is a repository.
    let path = if path.starts_with("/v1/") || path.starts_with("/v2/") { &path[3..] } else { path };
    let path = if path == "/" { "" } else { path };
    let name = format!("{authority}{path}");
    Some((name.clone(), Pattern::parse(&name)?))
}

/// A registry host with globs, a port and the beginning of a path: what a docker config key and a
/// credential provider's `matchImages` both are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    labels: Vec<String>,
    port: String,
    path: String,
}

impl Pattern {
    /// Reads `host[:port][/path]`, without a scheme.
    pub fn parse(text: &str) -> Option<Self> {
        let (authority, path) = split_url(text)?;
        let (host, port) = split_port(authority)?;
        // What no URL may have in its host would never match, and is more likely a mistake.
        let refused = |c: char| c.is_whitespace() || c.is_control() || r"\^%{}|`[]".contains(c);
        if host.is_empty() || host.contains(refused) || path.contains('%') {
            return None;
        }
        Some(Self {
            labels: host.split('.').map(str::to_owned).collect(),
            port: port.to_owned(),
            path: path.to_owned(),
        })
    }

    /// Whether an image name, read by the same rules, falls under this pattern: the same number of
    /// host labels, each matching its glob; the same port; and the path as a plain string prefix,
    /// so that `host/team` also serves `host/team-two`, exactly as on the node.
    pub fn matches(&self, image: &Self) -> bool {
        self.port == image.port
            && self.labels.len() == image.labels.len()
            && image.path.starts_with(&self.path)
            && self.labels.iter().zip(&image.labels).all(|(glob, label)| star_match(glob, label))
    }
}

/// Authority and path, without user information, query or fragment.
fn split_url(text: &str) -> Option<(&str, &str)> {
    let end = text.find(['?', '#']).unwrap_or(text.len());
    let text = &text[..end];
    let (authority, path) = text.split_at(text.find('/').unwrap_or(text.len()));
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    (!authority.is_empty()).then_some((authority, path))
}

fn split_port(authority: &str) -> Option<(&str, &str)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (address, after) = rest.split_once(']')?;
            address.parse::<std::net::Ipv6Addr>().ok()?;
            (address, if after.is_empty() { "" } else { after.strip_prefix(':')? })
        }
        None => authority.split_once(':').unwrap_or((authority, "")),
    };
    port.bytes().all(|byte| byte.is_ascii_digit()).then_some((host, port))
}

/// Matches `*` (any run of characters) within one label. Walks back to the last star only, so a
/// hostile pattern costs at most pattern times label.
fn star_match(glob: &str, label: &str) -> bool {
    let (glob, label) = (glob.as_bytes(), label.as_bytes());
    let (mut at_glob, mut at_label) = (0, 0);
    let mut last_star = None;
    while at_label < label.len() {
        if glob.get(at_glob) == Some(&b'*') {
            at_glob += 1;
            last_star = Some((at_glob, at_label));
        } else if glob.get(at_glob) == Some(&label[at_label]) {
            at_glob += 1;
            at_label += 1;
        } else if let Some((after_star, from)) = last_star {
            last_star = Some((after_star, from + 1));
            (at_glob, at_label) = (after_star, from + 1);
        } else {
            return false;
        }
    }
    glob[at_glob..].iter().all(|byte| *byte == b'*')
}

/// Whether the image is Docker Hub's. The kubelet takes every first part without a dot or a colon
/// for a Hub user; `localhost` is not one, and must never be shown the Hub's password.
fn is_docker_hub(image: &str) -> bool {
    match image.split_once('/') {
        None => !image.is_empty(),
        Some((first, _)) => {
            HUB_KEYS.contains(&first)
                || !(first.is_empty() || first == "localhost" || first.contains(['.', ':']))
        }
    }
}
