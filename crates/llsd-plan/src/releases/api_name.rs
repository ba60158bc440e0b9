//! The names of the server's APIs: camelCase in the resource, snake_case in config.yaml, and one
//! API whose name changed with a release.

use super::ServerProfile;

/// The name that config.yaml of this release has for an API, however the resource spells it.
pub(crate) fn in_config(profile: &ServerProfile, written: &str) -> String {
    let name = in_snake_case(written);
    if matches!(name.as_str(), "agents" | "responses") {
        profile.layout.agents_api.clone()
    } else {
        name
    }
}

/// The same as config.yaml spells it, in releases that call the API so.
pub(crate) fn in_snake_case(written: &str) -> String {
    let mut name = String::with_capacity(written.len() + 2);
    for c in written.chars() {
        if c.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(c.to_ascii_lowercase());
    }
    name
}

/// The name of the field that the resource has for an API of config.yaml.
pub fn in_resource(api: &str) -> String {
    let mut words = api.split('_');
    let mut name = words.next().unwrap_or_default().to_owned();
    for word in words {
        let (first, rest) = word.split_at(word.len().min(1));
        name.push_str(&first.to_ascii_uppercase());
        name.push_str(rest);
    }
    name
}
