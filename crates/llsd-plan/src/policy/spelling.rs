//! Other spellings under which a server answers what a rule forbids. A router takes a line break behind a path
//! for its end, and some paths have two names; rules are compared letter by letter.

use super::pattern::PREFIX;
use crate::releases::Releases;

/// The other spellings of what a rule names.
pub(super) fn other_spellings(text: &str, releases: &Releases) -> Vec<String> {
    if text == "*" || text.starts_with(PREFIX) {
        return Vec::new();
    }
    let beginning = text.strip_suffix('*');
    let path = beginning.unwrap_or(text);
    let names = releases.aliases().filter_map(|(one, other)| {
        let rest = path.strip_prefix(one)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| format!("{other}{rest}"))
    });
    if beginning.is_some() {
        return names.map(|name| format!("{name}*")).collect();
    }
    let names: Vec<String> = names.collect();
    let broken = std::iter::once(path).chain(names.iter().map(String::as_str));
    let broken: Vec<String> = broken.map(|name| format!("{name}\n")).collect();
    [names, broken].concat()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("/v1/files", &["/v1/files\n"])]
    #[case("/v1/files*", &[])]
    #[case("/v1/providers", &["/v1alpha/admin/providers", "/v1/providers\n", "/v1alpha/admin/providers\n"])]
    #[case("/v1/providers/*", &["/v1alpha/admin/providers/*"])]
    #[case("/v1alpha/admin/providers/a", &["/v1/providers/a", "/v1alpha/admin/providers/a\n", "/v1/providers/a\n"])]
    #[case::another_path("/v1/providers-of-mine*", &[])]
    #[case::wider("/v1alpha/*", &[])]
    #[case::a_pattern("regex:/v1/providers", &[])]
    fn a_path_is_forbidden_under_all_its_names(#[case] text: &str, #[case] others: &[&str]) {
        assert_eq!(other_spellings(text, Releases::shipped()), others);
    }
}
