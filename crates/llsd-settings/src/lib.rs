//! The operator's own configuration, read from its ConfigMap's data and its environment. Pure; what
//! is wrong is reported, and of a key that is broken the last good value holds ([`TextsInUse`]): a slip
//! of the pen must not stop the operator, nor change what runs, nor open what was to be closed.

pub mod admission;
mod domain;
mod events;
mod exposure;
mod flags;
mod images;
mod in_use;
mod key;
mod namespaces;
mod operator_config;
mod remarks;
mod rollout;
mod window;

pub use in_use::{Broken, CheckedTexts, Instead, TextsInUse};
pub use key::ConfigKey;
pub use operator_config::OperatorConfig;
pub use rollout::{CanaryLabel, RolloutSettings};
pub use window::Window;

#[cfg(test)]
mod tests;
