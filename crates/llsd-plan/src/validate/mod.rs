//! Validates a resource by itself, without a base configuration or a cluster. The command line,
//! admission and reconcile all call this, and the API server decides alike.

mod access;
mod endpoints;
mod images;
mod limits;
mod metadata;
mod misplaced;
mod misspelt;
mod providers;
mod resources;
mod rules;
mod schema;
mod shape;
mod v1alpha1;
mod v1alpha2;
mod value;

use llsd_api::conversion::Version;
use serde_json::Value;

use crate::problems::Findings;

pub use limits::{DEEPEST, MOST_VALUES, too_deep, too_many};
pub use metadata::{METADATA, is_label_key, is_label_value};
pub(crate) use misspelt::warn_of_types;
pub use v1alpha1::own_path as v1alpha1_path;
pub(crate) use v1alpha2::validate_stored;

/// All problems and warnings of a resource of either version, in the order of their paths.
pub fn validate(resource: &Value) -> Findings {
    let mut findings = match Version::from_object(resource) {
        Some(Version::V1Alpha1) => v1alpha1::check(resource),
        _ => v1alpha2::check_written(resource),
    };
    metadata::check(resource, &mut findings);
    findings.sort();
    findings
}
