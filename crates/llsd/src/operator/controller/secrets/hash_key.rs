//! The key under which values of Secrets are hashed, and grants are made. It is random, made once for an
//! installation and kept in a Secret of its own, so that a hash on a Deployment tells nobody what a weak
//! secret is.

use std::fmt::Write as _;

use hmac::{Hmac, KeyInit, Mac};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::PostParams;
use kube::{Api, Client};
use llsd_plan::objects::labels;
use sha2::Sha256;

use llsd_install::names::KEY_SECRET as NAME;

const FIELD: &str = "key";
const LENGTH: usize = 32;
/// What grants are made under, so that no hash of a value can be one.
const GRANTS: &[u8] = b"grants";

/// What is hashed to tell keys apart, and how many digits of that are enough.
const ID: &[u8] = b"which key is this";
const ID_DIGITS: usize = 8;

/// Hashes values, and shows itself to nobody.
#[derive(Clone)]
pub struct HashKey {
    bytes: [u8; LENGTH],
    /// Stands for the key, so that hashes of another one are not taken for other values.
    id: Box<str>,
    /// Whether it is the installation's.
    is_shared: bool,
}

impl std::fmt::Debug for HashKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HashKey(…)")
    }
}

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("Secret {namespace}/{NAME} cannot be read or made: {source}")]
    Unavailable { namespace: String, source: Box<kube::Error> },
    #[error(
        "Secret {namespace}/{NAME} holds no key of {LENGTH} bytes; delete it, and a new one is made, \
         which restarts no server"
    )]
    Unusable { namespace: String },
}

impl HashKey {
    /// Reads the key, or makes it. Of several replicas that make it at once one wins.
    pub async fn obtain(client: &Client, namespace: &str) -> Result<Self, Error> {
        let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
        let unavailable = |source: kube::Error| Error::Unavailable {
            namespace: namespace.to_owned(),
            source: Box::new(source),
        };
        let unusable = || Error::Unusable { namespace: namespace.to_owned() };
        if let Some(found) = secrets.get_opt(NAME).await.map_err(unavailable)? {
            return Self::parse(&found).ok_or_else(unusable);
        }
        match secrets.create(&PostParams::default(), &Self::made(namespace)).await {
            Ok(made) => Self::parse(&made).ok_or_else(unusable),
            Err(kube::Error::Api(status)) if status.code == 409 => {
                let found = secrets.get(NAME).await.map_err(unavailable)?;
                Self::parse(&found).ok_or_else(unusable)
            }
            Err(error) => Err(unavailable(error)),
        }
    }

    /// The key, if it is there and may be read.
    pub async fn find(client: &Client, namespace: &str) -> Option<Self> {
        let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
        Self::parse(&secrets.get_opt(NAME).await.ok()??)
    }

    /// One that nobody else has: hashes under it say nothing to others.
    pub fn ephemeral() -> Self {
        Self { is_shared: false, ..Self::parse(&Self::made("")).expect("just made") }
    }

    /// Whether it is the installation's own, so that its hashes can be compared with recorded ones.
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// The keyed hash of a value, in hexadecimal.
    pub fn hash(&self, value: &[u8]) -> String {
        hex(&authenticated(&self.bytes, value))
    }

    /// Proof that the operator granted this, in hexadecimal; none under a key that nobody else has.
    pub fn grant(&self, what: &[&str]) -> Option<String> {
        let key = authenticated(&self.bytes, GRANTS);
        // No name and no uid holds that character.
        self.is_shared.then(|| hex(&authenticated(&key, what.join("\0").as_bytes())))
    }

    fn parse(secret: &Secret) -> Option<Self> {
        let ByteString(bytes) = secret.data.as_ref()?.get(FIELD)?;
        let bytes: [u8; LENGTH] = bytes.as_slice().try_into().ok()?;
        let id = hex(&authenticated(&bytes, ID))[..ID_DIGITS].into();
        Some(Self { bytes, id, is_shared: true })
    }

    fn made(namespace: &str) -> Secret {
        let mut bytes = [0; LENGTH];
        aws_lc_rs::rand::fill(&mut bytes).expect("the system has randomness");
        let mut secret = Secret::default();
        secret.metadata.name = Some(NAME.to_owned());
        secret.metadata.namespace = Some(namespace.to_owned());
        secret.metadata.labels =
            Some([(labels::MANAGED_BY.to_owned(), labels::OPERATOR.to_owned())].into());
        secret.data = Some([(FIELD.to_owned(), ByteString(bytes.to_vec()))].into());
        secret
    }
}

fn authenticated(key: &[u8], message: &[u8]) -> [u8; LENGTH] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("any length will do");
    mac.update(message);
    mac.finalize().into_bytes().into()
}

fn hex(bytes: &[u8; LENGTH]) -> String {
    bytes[..LENGTH / 2].iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_value_has_another_hash_under_another_key_and_none_is_shown() {
        let one = HashKey::parse(&HashKey::made("ns")).unwrap();
        let other = HashKey::parse(&HashKey::made("ns")).unwrap();
        assert_eq!(one.hash(b"value"), one.hash(b"value"));
        assert_ne!(one.hash(b"value"), one.hash(b"other"));
        assert_ne!(one.hash(b"value"), other.hash(b"value"));
        assert_eq!(format!("{one:?}"), "HashKey(…)");
    }

    #[test]
    fn a_grant_is_of_one_thing_and_of_the_installation_alone() {
        let key = HashKey::parse(&HashKey::made("ns")).unwrap();
        let grant = key.grant(&["uid", "trust"]).unwrap();
        assert_eq!(key.grant(&["uid", "trust"]), Some(grant.clone()));
        assert_ne!(key.grant(&["uidt", "rust"]), Some(grant.clone()));
        assert_ne!(key.hash(b"uidtrust"), grant);
        assert_eq!(HashKey::ephemeral().grant(&["uid", "trust"]), None);
    }
}
