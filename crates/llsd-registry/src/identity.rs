//! A name for a credential that says nothing about it: what caches are keyed by, so that one
//! asker's token or proof of access never serves another.

use std::{hash::BuildHasher, sync::LazyLock};

use sha2::{Digest as _, Sha256};

use crate::Credential;

/// A hash of a credential under a key that only this process knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity([u8; 32]);

/// Drawn once per process: the hash of a short password must be of no use elsewhere.
static KEY: LazyLock<[u8; 32]> = LazyLock::new(|| {
    let mut key = [0; 32];
    for piece in key.chunks_mut(8) {
        // The standard library's only source of randomness: each state has keys of its own.
        let random = std::collections::hash_map::RandomState::new().hash_one(0);
        piece.copy_from_slice(&random.to_le_bytes());
    }
    key
});

impl Identity {
    pub(crate) fn from_credential(credential: Option<&Credential>) -> Self {
        let (kind, parts): (&str, [&str; 2]) = match credential {
            None => ("anonymous", ["", ""]),
            Some(Credential::Basic { username, password }) => ("basic", [username, password]),
            Some(Credential::IdentityToken(token)) => ("identity", [token, ""]),
            Some(Credential::RegistryToken(token)) => ("registry", [token, ""]),
        };
        let mut hasher = Sha256::new();
        hasher.update(*KEY);
        for part in [kind, parts[0], parts[1]] {
            // Lengths, so that no two lists of parts join to the same bytes.
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }

    /// Who asks: all credentials in their order.
    pub(crate) fn of_all(credentials: &[Credential]) -> Self {
        let mut hasher = Sha256::new();
        for credential in credentials {
            hasher.update(Self::from_credential(Some(credential)).0);
        }
        Self(hasher.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_credentials_have_different_names() {
        let basic = |username: &str, password: &str| Credential::Basic {
            username: username.to_owned(),
            password: password.to_owned(),
        };
        let names = [
            Identity::from_credential(None),
            Identity::from_credential(Some(&basic("a", "bc"))),
            Identity::from_credential(Some(&basic("ab", "c"))),
            Identity::from_credential(Some(&Credential::IdentityToken("a".into()))),
            Identity::from_credential(Some(&Credential::RegistryToken("a".into()))),
            Identity::of_all(&[]),
            Identity::of_all(&[basic("a", "bc"), basic("ab", "c")]),
            Identity::of_all(&[basic("ab", "c"), basic("a", "bc")]),
        ];
        for (at, name) in names.iter().enumerate() {
            assert!(!names[..at].contains(name));
        }
        assert_eq!(
            Identity::from_credential(Some(&basic("a", "b"))),
            Identity::from_credential(Some(&basic("a", "b")))
        );
    }
}
