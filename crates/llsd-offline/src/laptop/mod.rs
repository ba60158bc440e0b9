//! What `llsd up` decides: how one machine runs a resource's server without a cluster. Processes, files and the
//! network are the command's.

mod adapted;
mod addresses;
mod beside;
mod env_file;
mod index_settings;
mod own_variables;
mod packages;
mod planned;
mod preflight;
mod provider_ids;
mod release;
mod variables;

pub use adapted::Endpoints;
pub use beside::add_config_maps;
pub use env_file::{EnvFile, EnvFileError};
pub use index_settings::settings_of_pip;
pub use own_variables::{OWN_VARIABLES, in_place_of};
pub use packages::{Demand, InstalledType, LeftOut, PackageChoice, Without, choose};
pub use planned::{Here, Wishes, plan_here};
pub use preflight::{PreflightAnswer, PreflightProblem};
pub use release::{InstalledRelease, PYTHONS, SERVER_DEPENDENCIES_LEFT_OUT};
pub use variables::{MissingVariable, ServerVariables, server_variables};
