//! What a registry may be shown to prove who asks: what Secrets hold, and what plugins give.

pub mod provider_plugin;

pub use llsd_image::credentials::{
    Credential, Keyring, OfferedSecrets, PullSecret, keyring, pull_secret,
};
pub use provider_plugin::ProviderPlugins;
