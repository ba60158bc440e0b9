//! Validates a resource by itself, without a base configuration or a cluster. The command line,
//! admission and reconcile all call this, and the API server decides alike.

mod access;
mod endpoints;
mod metadata;
mod misplaced;
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

pub use metadata::METADATA;
pub use v1alpha1::own_path as v1alpha1_path;
pub(crate) use v1alpha2::validate_stored;
pub use v1alpha2::{DEEPEST, MOST_VALUES, too_deep, too_many};

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
