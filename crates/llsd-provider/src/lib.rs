//! External providers as their images hold them: the package file, wheels, what is installed and what
//! stands against it. Pure: bytes in, decisions out.

mod examination;
mod fault;
mod installed;
pub mod layout;
mod package_file;
mod providers_d;
pub mod python;
mod selection;
pub mod wheel;
mod written;

pub use examination::{check_wheels, open_wheels};
pub use fault::Fault;
pub use installed::{Installed, Package};
pub use package_file::{Loader, PackageFile, ProviderPackage, check_type};
pub use providers_d::providers_d;
pub use selection::{Candidate, Decision, Selection, Taken, select};
