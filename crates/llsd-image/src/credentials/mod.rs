//! What a registry may be shown to prove who asks, and which credential is for which repository.
//! Values never appear in `Debug` or in errors.

mod credential;
pub mod keyring;
mod offered;
pub mod pull_secret;

pub use credential::Credential;
pub use keyring::Keyring;
pub use offered::OfferedSecrets;
pub use pull_secret::PullSecret;
