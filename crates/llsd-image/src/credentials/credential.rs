//! One credential, which never appears in `Debug`.

use std::fmt;

/// One way to authenticate to a registry.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Credential {
    /// A user name and a password.
    Basic { username: String, password: String },
    /// A refresh token, to be exchanged at the registry's token service.
    IdentityToken(String),
    /// A token that the registry takes as it is.
    RegistryToken(String),
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Basic { .. } => "Basic(…)",
            Self::IdentityToken(_) => "IdentityToken(…)",
            Self::RegistryToken(_) => "RegistryToken(…)",
        })
    }
}
