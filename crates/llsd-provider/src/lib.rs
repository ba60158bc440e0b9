//! External providers as their images hold them: the package file, wheels, what is installed and what
//! stands against it. Pure: bytes in, decisions out.
#![cfg_attr(not(feature = "wheels"), allow(dead_code, reason = "some of it only wheels need"))]

#[cfg(feature = "wheels")]
mod distribution;
#[cfg(feature = "wheels")]
mod examination;
mod fault;
#[cfg(feature = "wheels")]
mod installed;
pub mod layout;
mod package_file;
mod providers_d;
pub mod python;
#[cfg(feature = "wheels")]
mod selection;
#[cfg(feature = "wheels")]
pub mod wheel;
mod wheel_name;
mod written;

#[cfg(feature = "wheels")]
pub use distribution::Distribution;
#[cfg(feature = "wheels")]
pub use examination::{check_wheels, open_wheels};
pub use fault::Fault;
#[cfg(feature = "wheels")]
pub use installed::{Installed, Package};
pub use package_file::{Loader, PackageFile, ProviderPackage, check_type};
pub use providers_d::providers_d;
#[cfg(feature = "wheels")]
pub use selection::{Candidate, Decision, Selection, Taken, select};
pub use wheel_name::FileName;
