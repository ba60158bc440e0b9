//! How claims become attributes of a caller: which claim a name finds, and what its value comes to.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::caller::{Attributes, Stranger};
use crate::releases::Release;

/// What a token's claims become where the resource does not say.
pub(super) const OF_TOKENS: [(&str, &str); 7] = [
    ("sub", "roles"),
    ("username", "roles"),
    ("groups", "teams"),
    ("team", "teams"),
    ("project", "projects"),
    ("tenant", "namespaces"),
    ("namespace", "namespaces"),
];
/// The same for users of the cluster.
pub(super) const OF_KUBERNETES: [(&str, &str); 2] = [("username", "roles"), ("groups", "roles")];
/// The same for users of GitHub.
pub(super) const OF_GITHUB: [(&str, &str); 2] = [("login", "roles"), ("organizations", "teams")];

/// The attributes that claims give by a mapping; what the resource writes replaces the whole default. The
/// error is of a claim that the server cannot take.
pub(super) fn attributes(
    claims: &Map<String, Value>,
    written: Option<&BTreeMap<String, String>>,
    default: &[(&str, &str)],
    release: &Release,
) -> Result<Attributes, Stranger> {
    let mut attributes = Attributes::new();
    let mut add = |claim: &str, attribute: &str| -> Result<(), Stranger> {
        if let Some(values) = values(claims, claim, release)? {
            attributes.entry(attribute.to_owned()).or_default().extend(values);
        }
        Ok(())
    };
    match written {
        Some(written) => written.iter().try_for_each(|(claim, attribute)| add(claim, attribute))?,
        None => default.iter().try_for_each(|(claim, attribute)| add(claim, attribute))?,
    }
    Ok(attributes)
}

/// What one claim gives: the entries of a list, or the words of a text.
pub(super) fn values(
    claims: &Map<String, Value>,
    claim: &str,
    release: &Release,
) -> Result<Option<Vec<String>>, Stranger> {
    match find(claims, claim, release.escapes_dots) {
        Some(Value::String(text)) => Ok(Some(words(text).map(str::to_owned).collect())),
        Some(Value::Array(list)) => {
            let texts = list.iter().map(|entry| entry.as_str().map(str::to_owned));
            let texts: Option<Vec<String>> = texts.collect();
            let mixed = || Stranger::Refused(format!("the claim {claim} lists more than texts"));
            texts.map(Some).ok_or_else(mixed)
        }
        None | Some(_) => Ok(None),
    }
}

/// The words of a text as Python divides it: some control characters divide there, too.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || ('\x1c'..='\x1f').contains(&c))
        .filter(|word| !word.is_empty())
}

fn find<'a>(claims: &'a Map<String, Value>, claim: &str, escapes: bool) -> Option<&'a Value> {
    let mut steps = steps(claim, escapes).into_iter();
    let first = steps.next().and_then(|step| claims.get(&step));
    let nested =
        first.and_then(|first| steps.try_fold(first, |value, step| value.as_object()?.get(&step)));
    nested.filter(|value| !value.is_null()).or_else(|| claims.get(claim))
}

/// The names of the levels that a claim is under.
fn steps(claim: &str, escapes: bool) -> Vec<String> {
    if !escapes {
        return claim.split('.').map(str::to_owned).collect();
    }
    let mut steps = vec![String::new()];
    let mut before = None;
    for c in claim.chars() {
        match (c, before) {
            ('.', Some('\\')) => {
                let last = steps.last_mut().expect("there is always one");
                last.pop();
                last.push('.');
            }
            ('.', _) => steps.push(String::new()),
            _ => steps.last_mut().expect("there is always one").push(c),
        }
        before = Some(c);
    }
    steps
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(claim: &str, escapes: bool) -> Option<Value> {
        let claims = json!({
            "a": {"b": "nested", "c": null},
            "a.b": "dotted",
            "a.c": "other",
            "x.y": "alone",
            "k.io": {"name": "escaped"},
        });
        find(claims.as_object().unwrap(), claim, escapes).cloned()
    }

    #[test]
    fn a_dot_leads_inside_unless_nothing_is_there() {
        assert_eq!(found("a.b", false), Some(json!("nested")));
        assert_eq!(found("a.c", false), Some(json!("other")));
        assert_eq!(found("x.y", false), Some(json!("alone")));
        assert_eq!(found("k.io.name", false), None);
    }

    #[test]
    fn a_backslash_makes_a_dot_part_of_a_name_where_the_release_knows_it() {
        assert_eq!(found(r"k\.io.name", false), None);
        assert_eq!(found(r"k\.io.name", true), Some(json!("escaped")));
    }
}
