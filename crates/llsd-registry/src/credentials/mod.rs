//! What a registry may be shown to prove who asks. Values never appear in `Debug` or in errors.

use std::fmt;

pub mod keyring;
pub mod provider_plugin;
pub mod pull_secret;

pub use keyring::Keyring;
pub use provider_plugin::ProviderPlugins;
pub use pull_secret::PullSecret;

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
