//! The key under which values of Secrets are hashed. It is random, made once for an installation and
//! kept in a Secret of its own, so that a hash on a Deployment tells nobody what a weak secret is.

use std::fmt::Write as _;

use hmac::{Hmac, KeyInit, Mac};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::PostParams;
use kube::{Api, Client};
use llsd_plan::objects::labels;
use sha2::Sha256;

use crate::manifests::names::KEY_SECRET as NAME;

const FIELD: &str = "key";
const LENGTH: usize = 32;

/// Hashes values, and shows itself to nobody.
#[derive(Clone)]
pub struct SecretKey([u8; LENGTH]);

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretKey(…)")
    }
}

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("Secret {namespace}/{NAME} cannot be read or made: {source}")]
    Unavailable { namespace: String, source: Box<kube::Error> },
    #[error(
        "Secret {namespace}/{NAME} holds no key of {LENGTH} bytes; delete it, and a new one is made \
         (every server with secrets is then restarted once)"
    )]
    Unusable { namespace: String },
}

impl SecretKey {
    /// Reads the key, or makes it. Of several replicas that make it at once one wins.
    pub async fn obtain(client: &Client, namespace: &str) -> Result<Self, Error> {
        let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
        let unavailable = |source: kube::Error| Error::Unavailable {
            namespace: namespace.to_owned(),
            source: Box::new(source),
        };
        let unusable = || Error::Unusable { namespace: namespace.to_owned() };
        if let Some(found) = secrets.get_opt(NAME).await.map_err(unavailable)? {
            return Self::read(&found).ok_or_else(unusable);
        }
        match secrets.create(&PostParams::default(), &Self::made(namespace)).await {
            Ok(made) => Self::read(&made).ok_or_else(unusable),
            Err(kube::Error::Api(status)) if status.code == 409 => {
                let found = secrets.get(NAME).await.map_err(unavailable)?;
                Self::read(&found).ok_or_else(unusable)
            }
            Err(error) => Err(unavailable(error)),
        }
    }

    /// The key, if it is there and may be read.
    pub async fn find(client: &Client, namespace: &str) -> Option<Self> {
        let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
        Self::read(&secrets.get_opt(NAME).await.ok()??)
    }

    /// One that nobody else has: hashes under it say nothing to others.
    pub fn ephemeral() -> Self {
        Self::read(&Self::made("")).expect("just made")
    }

    /// The keyed hash of a value, in hexadecimal.
    pub fn hash(&self, value: &[u8]) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("any length will do");
        mac.update(value);
        let bytes = mac.finalize().into_bytes();
        bytes[..16].iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }

    fn read(secret: &Secret) -> Option<Self> {
        let ByteString(bytes) = secret.data.as_ref()?.get(FIELD)?;
        Some(Self(bytes.as_slice().try_into().ok()?))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_value_has_another_hash_under_another_key_and_none_is_shown() {
        let one = SecretKey::read(&SecretKey::made("ns")).unwrap();
        let other = SecretKey::read(&SecretKey::made("ns")).unwrap();
        assert_eq!(one.hash(b"value"), one.hash(b"value"));
        assert_ne!(one.hash(b"value"), one.hash(b"other"));
        assert_ne!(one.hash(b"value"), other.hash(b"value"));
        assert_eq!(format!("{one:?}"), "SecretKey(…)");
    }
}
