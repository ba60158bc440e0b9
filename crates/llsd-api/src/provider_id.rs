//! The id of a provider: what models refer to and what the server lists.

use std::fmt;

use schemars::json_schema;
use serde::{Deserialize, Serialize};

use crate::patterns::PROVIDER_ID;
use crate::schema::inline_schema;

/// Long enough for any name seen, short enough for an environment variable made from it.
pub const MAX_LENGTH: usize = 63;

/// A well-formed provider id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct ProviderId(String);

impl ProviderId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The short name of a provider type, which is the id of a provider that names none:
/// `vllm` for `remote::vllm`.
pub fn short_name(provider_type: &str) -> &str {
    provider_type.rsplit_once("::").map_or(provider_type, |(_, short)| short)
}

impl TryFrom<String> for ProviderId {
    type Error = String;

    fn try_from(id: String) -> Result<Self, Self::Error> {
        let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let well_formed = id.len() <= MAX_LENGTH
            && id.chars().all(inner)
            && id.starts_with(|c: char| c.is_ascii_alphanumeric())
            && id.ends_with(|c: char| c.is_ascii_alphanumeric());
        if well_formed { Ok(Self(id)) } else { Err(format!("`{id}` is not a provider id")) }
    }
}

impl fmt::Display for ProviderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

inline_schema!(ProviderId, "ProviderId", |_| {
    json_schema!({"type": "string", "maxLength": MAX_LENGTH, "pattern": PROVIDER_ID})
});

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("vllm", true)]
    #[case("vllm-primary.eu_1", true)]
    #[case("9", true)]
    #[case("", false)]
    #[case("-vllm", false)]
    #[case("vllm-", false)]
    #[case("a/b", false)]
    #[case("${env.X}", false)]
    #[case("a b", false)]
    fn an_id_is_letters_digits_and_inner_punctuation(#[case] id: &str, #[case] well_formed: bool) {
        assert_eq!(ProviderId::try_from(id.to_owned()).is_ok(), well_formed);
    }

    #[test]
    fn the_short_name_is_what_follows_the_last_double_colon() {
        assert_eq!(short_name("vllm"), "vllm");
        assert_eq!(short_name("remote::vllm"), "vllm");
        assert_eq!(short_name("remote::huggingface::tgi"), "tgi");
    }
}
