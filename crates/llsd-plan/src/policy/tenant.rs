//! The tenant of a caller, as OGX reads it.

use serde_json::{Map, Value};

use super::caller::Stranger;

/// What a field of what is told names, where there is such a field.
pub(super) fn of_field(
    told: &Map<String, Value>,
    field: Option<&str>,
) -> Result<Option<String>, Stranger> {
    tenant(field.and_then(|field| told.get(field)).and_then(Value::as_str))
}

/// A tenant in the server's spelling; one that is blank is none.
pub(super) fn tenant(told: Option<&str>) -> Result<Option<String>, Stranger> {
    let Some(name) = told.map(str::trim).filter(|name| !name.is_empty()) else { return Ok(None) };
    let name = name.to_lowercase();
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let sound = name.starts_with(is_plain)
        && name.chars().all(|c| is_plain(c) || matches!(c, '-' | '_'))
        && name.len() <= 128;
    if sound {
        Ok(Some(name))
    } else {
        Err(Stranger::Refused("the tenant's name has letters that no tenant's has".to_owned()))
    }
}
