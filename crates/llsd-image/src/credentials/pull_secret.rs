//! Reads the two kinds of pull Secret that Kubernetes has. What cannot be read is skipped with a
//! note; no helper that a Secret names is ever run.

use std::fmt;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Map, Value};

use super::{Credential, Keyring};

/// As large as the API server lets a Secret be.
const MAX_CONFIG_BYTES: usize = 1024 * 1024;
/// Far above what people keep in one Secret; bounds the work of every lookup.
const MAX_ENTRIES: usize = 1000;
/// Longer than any host and repository path.
const MAX_KEY_BYTES: usize = 1024;
/// Cloud registries hand out tokens of a few kilobytes, and they travel in one header.
const MAX_FIELD_BYTES: usize = 64 * 1024;

/// Go's decoder, which the kubelet uses, takes either padding and ignores the last symbol's spare
/// bits.
const LENIENT_BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// What one pull Secret says: credentials by docker config key, in the order of the document.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct PullSecret {
    entries: Vec<(String, Credential)>,
    notes: Vec<Note>,
}

/// Something in a docker config that was left out. Names the Secret, its data key and the entry's
/// position; never what stands there, not even the host, because people put tokens in odd places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// `Secret <name>`, or the file.
    pub source: String,
    /// The Secret's data key; empty where there is none to name.
    pub key: &'static str,
    /// Counted from 1; absent when the whole document is meant.
    pub entry: Option<usize>,
    pub reason: Reason,
}

/// Why a part of a pull Secret was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    #[error(
        "the Secret's type is neither kubernetes.io/dockerconfigjson nor kubernetes.io/dockercfg"
    )]
    WrongType,
    #[error("the key is missing or empty")]
    Missing,
    #[error("the document is larger than {MAX_CONFIG_BYTES} bytes")]
    TooLarge,
    #[error("the document is not a JSON object of registries")]
    NotJson,
    #[error("entries after the first {MAX_ENTRIES} are ignored")]
    TooManyEntries,
    #[error("credential helpers are never run; write the credential itself")]
    Helper,
    #[error("the registry is not of the form host[:port][/path]")]
    BadRegistry,
    #[error("the entry is not an object of strings")]
    NotAnEntry,
    #[error("`auth` is not base64 of user:password")]
    BadAuth,
    #[error("a field is longer than {MAX_FIELD_BYTES} bytes")]
    FieldTooLong,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)?;
        if !self.key.is_empty() {
            write!(f, ", key {}", self.key)?;
        }
        if let Some(entry) = self.entry {
            write!(f, ", entry {entry}")?;
        }
        write!(f, ": {}", self.reason)
    }
}

impl fmt::Debug for PullSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PullSecret")
            .field("entries", &self.entries.len())
            .field("notes", &self.notes)
            .finish()
    }
}

impl PullSecret {
    /// Reads the Secret `name` of type `secret_type`; `data` gives the decoded value of a key.
    pub fn from_secret<'a>(
        name: &str,
        secret_type: &str,
        data: impl FnOnce(&str) -> Option<&'a [u8]>,
    ) -> Self {
        let source = format!("Secret {name}");
        let (key, below_auths) = match secret_type {
            "kubernetes.io/dockerconfigjson" => (".dockerconfigjson", true),
            "kubernetes.io/dockercfg" => (".dockercfg", false),
            _ => {
                let mut read = Self::default();
                read.note(&source, "", None, Reason::WrongType);
                return read;
            }
        };
        Self::parse(&source, key, data(key).unwrap_or_default(), below_auths)
    }

    /// Reads a document that is not in a Secret: a user's own docker `config.json`, which notes
    /// call `file`.
    pub fn docker_config(file: &str, document: &[u8]) -> Self {
        Self::parse(file, "", document, true)
    }

    /// Credentials by docker config key, for [`Keyring::add`].
    pub fn entries(&self) -> &[(String, Credential)] {
        &self.entries
    }

    /// What was left out, and why.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Adds everything to a keyring, behind what it already holds.
    pub fn add_to(&self, keyring: &mut Keyring) {
        for (key, credential) in &self.entries {
            keyring.add(key, credential.clone());
        }
    }

    fn parse(source: &str, key: &'static str, document: &[u8], below_auths: bool) -> Self {
        let mut read = Self::default();
        match registries(document, below_auths) {
            Err(reason) => read.note(source, key, None, reason),
            Ok((auths, helpers)) => {
                if helpers {
                    read.note(source, key, None, Reason::Helper);
                }
                if auths.len() > MAX_ENTRIES {
                    read.note(source, key, None, Reason::TooManyEntries);
                }
                for (position, (registry, entry)) in auths.iter().take(MAX_ENTRIES).enumerate() {
                    match credentials(registry, entry) {
                        Ok(found) => read
                            .entries
                            .extend(found.into_iter().map(|one| (registry.clone(), one))),
                        Err(reason) => read.note(source, key, Some(position + 1), reason),
                    }
                }
            }
        }
        read
    }

    fn note(&mut self, source: &str, key: &'static str, entry: Option<usize>, reason: Reason) {
        self.notes.push(Note { source: source.to_owned(), key, entry, reason });
    }
}

/// The map of registries, and whether the document names credential helpers.
fn registries(document: &[u8], below_auths: bool) -> Result<(Map<String, Value>, bool), Reason> {
    if document.is_empty() {
        return Err(Reason::Missing);
    }
    if document.len() > MAX_CONFIG_BYTES {
        return Err(Reason::TooLarge);
    }
    let mut root: Map<String, Value> =
        serde_json::from_slice(document).map_err(|_| Reason::NotJson)?;
    if !below_auths {
        return Ok((root, false));
    }
    let helpers = ["credHelpers", "credsStore"].iter().any(|name| field(&root, name).is_some());
    let name = root.keys().find(|key| key.eq_ignore_ascii_case("auths")).cloned();
    match name.and_then(|name| root.remove(&name)) {
        None | Some(Value::Null) => Ok((Map::new(), helpers)),
        Some(Value::Object(auths)) => Ok((auths, helpers)),
        Some(_) => Err(Reason::NotJson),
    }
}

/// What one entry offers, in the order to try: the user name and password that the kubelet reads,
/// then the tokens that only docker knows. An empty entry is no mistake; docker writes one where a
/// helper holds the credential.
fn credentials(registry: &str, entry: &Value) -> Result<Vec<Credential>, Reason> {
    // Asked here rather than when the key is used, so that the note can name the Secret.
    if registry.len() > MAX_KEY_BYTES || !Keyring::accepts(registry) {
        return Err(Reason::BadRegistry);
    }
    let empty = Map::new();
    let entry = match entry {
        Value::Object(entry) => entry,
        Value::Null => &empty,
        _ => return Err(Reason::NotAnEntry),
    };
    let auth = text(entry, "auth")?;
    let (username, password) = if auth.is_empty() {
        (text(entry, "username")?.to_owned(), text(entry, "password")?.to_owned())
    } else {
        decode_auth(auth).ok_or(Reason::BadAuth)?
    };
    let identity = text(entry, "identitytoken")?;
    let token = text(entry, "registrytoken")?;
    let has_tokens = !(identity.is_empty() && token.is_empty());

    let mut found = Vec::new();
    // Beside a token, docker leaves a user name without a password: nothing to log in with.
    if !password.is_empty() || (!username.is_empty() && !has_tokens) {
        found.push(Credential::Basic { username, password });
    }
    if !identity.is_empty() {
        found.push(Credential::IdentityToken(identity.to_owned()));
    }
    if !token.is_empty() {
        found.push(Credential::RegistryToken(token.to_owned()));
    }
    Ok(found)
}

/// Go matches JSON names without regard to case, and Secrets written by hand rely on it.
fn field<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    object
        .get(name)
        .or_else(|| object.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, v)| v))
}

fn text<'a>(entry: &'a Map<String, Value>, name: &str) -> Result<&'a str, Reason> {
    match field(entry, name) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) if text.len() > MAX_FIELD_BYTES => Err(Reason::FieldTooLong),
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(Reason::NotAnEntry),
    }
}

/// Base64 of `user:password`, with or without padding, line breaks ignored. Old docker clients
/// filled the password up with NULs.
fn decode_auth(auth: &str) -> Option<(String, String)> {
    let packed: String = auth.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let decoded = String::from_utf8(LENIENT_BASE64.decode(packed).ok()?).ok()?;
    let (username, password) = decoded.split_once(':')?;
    Some((username.to_owned(), password.trim_end_matches('\0').to_owned()))
}
