//! From a resource and facts to everything that the operator would apply, or to what is in the way.
//! Controller, admission and command line all call this one pure function.

mod collision;
mod config_source;
mod forbidden_overrides;
mod guarded;
mod image_base;
mod image_policy;
mod listening;
mod monitoring;
mod moved;
mod own_inputs;
mod planning;
pub mod references;
mod reserved;
mod secret_check;
mod secret_references;
mod server;
mod user_variables;

pub use collision::plan_beside;
pub use image_base::not_known_offline;
pub use moved::moved;
pub use planning::{Plan, Planning, PreflightInputs, parse_and_plan, plan, rollback_policy};
