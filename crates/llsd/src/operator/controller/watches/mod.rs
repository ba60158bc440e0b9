//! The watches: of what every cluster serves, of kinds that one may lack, and of the operator's own
//! ConfigMap. Each is followed through every failure by itself.

mod follow;
mod kept_config;
mod operator_config;
mod optional_kinds;
mod required;

use std::sync::Arc;

use tokio::task::JoinSet;

use crate::operator::controller::context::Context;
pub use kept_config::KeptConfig;

/// Starts all watches.
pub fn start(context: &Arc<Context>, tasks: &mut JoinSet<()>) {
    required::start(context, tasks);
    optional_kinds::start(context, tasks);
}
