//! Judges a resource by itself.
use serde_json::Value;
use crate::problem::Findings;
/// All problems and warnings of a v1alpha2 resource.
pub fn validate(_resource: &Value) -> Findings { Findings::default() }
