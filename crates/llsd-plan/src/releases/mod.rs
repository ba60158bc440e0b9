//! What is known of server releases, and nowhere else: `releases.yaml` has each release with its
//! traits, `providers/` a row for each provider type with the releases that have it, `images.yaml` and
//! `bases/` the distributions that a resource can name, `access.yaml` the parts of access,
//! `routes.yaml` the paths that are served. `README.md` says how to add one of each.

mod access;
mod access_parts;
pub mod api_name;
mod catalogue;
mod detection;
mod distributions;
mod document;
mod listing;
mod marks;
mod number;
mod provider_type;
mod route_table;
mod routes;
mod set;
mod stated;
mod table;

pub use catalogue::Catalogue;
pub use detection::{NoProfile, ServerProfile, detect};
pub use distributions::Distribution;
pub use document::{ConfigDocument, OpenedDocument};
pub use listing::{ListedField, ListedType, ReleaseRange};
pub use number::{Number, ServerFamily};
pub use provider_type::{Awaited, EndpointForm, ProviderType};
pub use set::{Releases, Texts};
pub use stated::{is_known, is_of_release, release_of, release_of_server, row_of, server_of};
pub use table::{Release, StoreKind};
