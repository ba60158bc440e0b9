//! Which servers have use for a field: not every release has every API, nor every part of `spec.access`.

use llsd_plan::releases::{ReleaseRange, Releases};

/// The releases in words; nothing where all have use for it, or where that depends on more than the field.
pub(super) fn of(path: &[String]) -> Option<String> {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match path.as_slice() {
        ["spec", "providers" | "externalProviders", api, ..] => of_api(api),
        ["spec", "access", below @ ..] => below.iter().rev().find_map(|part| of_access(part)),
        _ => None,
    }
}

/// Agents and responses are one API, whose name depends on the release, and either name is taken.
fn of_api(api: &str) -> Option<String> {
    if matches!(api, "agents" | "responses") {
        return None;
    }
    let spelled_alike = |known: &str| known.replace('_', "").eq_ignore_ascii_case(api);
    let ranges = Releases::shipped().ranges(|it| it.apis().any(spelled_alike));
    let is_everywhere = ranges == [ReleaseRange::default()];
    (!is_everywhere && !ranges.is_empty()).then(|| ReleaseRange::words(&ranges))
}

fn of_access(part: &str) -> Option<String> {
    Some(Releases::shipped().named_with_access(part)).filter(|named| !named.is_empty())
}
