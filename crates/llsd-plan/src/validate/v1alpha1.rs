//! Validates a v1alpha1 resource: by its own schema first, then by what it becomes in v1alpha2, with
//! the findings at the fields of the file.

use llsd_api::conversion;
use serde_json::Value;

use super::v1alpha2::validate_stored;
use super::value::present;
use super::{images, limits, schema, shape};
use crate::problems::{FieldPath, Findings, Problem, Segment};

pub(super) fn check(resource: &Value) -> Findings {
    let mut findings = Findings::default();
    limits::check(&schema::V1ALPHA1_SPEC, resource, &mut findings);
    if let Some(spec) = present(resource, "spec").filter(|_| !findings.exceed_a_limit()) {
        shape::check(&schema::V1ALPHA1_SPEC, spec, &FieldPath::spec(), &mut findings);
    }
    if !findings.problems.is_empty() {
        return findings;
    }
    let converted = conversion::up(resource.clone());
    let mut findings = validate_stored(&converted);
    images::check(&converted["spec"], &mut findings);
    in_its_own_fields(findings)
}

/// The findings on the converted resource, each at the v1alpha1 field that it came from. One that
/// comes from a carried section keeps its path: v1alpha1 has no field for it.
fn in_its_own_fields(findings: Findings) -> Findings {
    let own = |problem: Problem| Problem { path: own_path(&problem.path), ..problem };
    Findings {
        problems: findings.problems.into_iter().map(own).collect(),
        warnings: findings.warnings.into_iter().map(own).collect(),
    }
}

/// A path of the converted resource in the fields of the v1alpha1 file: the longest part of it that
/// v1alpha1 has a field for becomes that field.
pub fn own_path(path: &FieldPath) -> FieldPath {
    let segments = path.segments();
    for length in (1..=segments.len()).rev() {
        let keys: Option<Vec<&str>> = segments[..length]
            .iter()
            .map(|segment| match segment {
                Segment::Key(key) => Some(key.as_str()),
                Segment::Index(_) => None,
            })
            .collect();
        let Some(own) =
            keys.and_then(|keys| conversion::v1alpha1_field(&format!("/{}", keys.join("/"))))
        else {
            continue;
        };
        let own = own.split('/').skip(1).fold(FieldPath::root(), |path, key| path.key(key));
        return segments[length..].iter().fold(own, |path, segment| match segment {
            Segment::Key(key) => path.key(key),
            Segment::Index(index) => path.index(*index),
        });
    }
    path.clone()
}
