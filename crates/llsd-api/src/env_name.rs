//! Names of the environment variables through which secrets reach the server.

use std::fmt;

use serde::Serialize;

/// An environment variable name of the operator's making: `LLSD_<PROVIDER ID>_<FIELD>`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct EnvName(String);

impl EnvName {
    /// Joins the parts under the operator's prefix, in upper case, with every character that a
    /// variable name cannot hold as `_`. Different parts may give the same name (`a-b` and `a_b`),
    /// so whoever makes several must check them for collisions.
    pub fn from_parts<'a>(parts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut name = String::from("LLSD");
        for part in parts {
            name.push('_');
            name.extend(
                part.chars()
                    .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }),
            );
        }
        Self(name)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EnvName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_prefixed_upper_case_and_free_of_other_characters() {
        assert_eq!(
            EnvName::from_parts(["vllm-primary", "api_key"]).as_str(),
            "LLSD_VLLM_PRIMARY_API_KEY"
        );
        assert_eq!(EnvName::from_parts(["é.1", "host"]).to_string(), "LLSD___1_HOST");
    }
}
