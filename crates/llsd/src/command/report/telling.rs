//! Names that tell that a value is a secret, and references that are none.

/// What stands where a secret stood.
pub(super) const LEFT_OUT: &str = "(left out)";

/// Parts of names whose values are secrets, whoever wrote them.
const PARTS: [&str; 13] = [
    "password",
    "passwd",
    "passphrase",
    "token",
    "secret",
    "apikey",
    "privatekey",
    "accesskey",
    "signingkey",
    "credential",
    "connectionstring",
    "authorization",
    "cookie",
];
const LAST_WORDS: [&str; 4] = ["_key", "_dsn", "_pass", "_pwd"];
/// Names of Secrets and of keys in them are no secrets.
const NAMES_ONE: [&str; 5] = ["secretname", "secrethash", "secretkeyref", "secretref", "automount"];

/// Whether what stands under this name is a secret.
pub(super) fn tells(name: &str) -> bool {
    let name = name.to_lowercase().replace(['-', '.'], "_");
    let one_word = name.replace('_', "");
    let ends = name == "dsn" || LAST_WORDS.iter().any(|word| name.ends_with(word));
    (ends || PARTS.iter().any(|part| one_word.contains(part)))
        && !NAMES_ONE.iter().any(|part| one_word.contains(part))
}

/// Whether a value under such a name may be shown: a reference, or a number of tokens.
pub(super) fn may_be_shown(name: &str, value: &str) -> bool {
    let counted = name.to_lowercase().ends_with("tokens");
    value.is_empty()
        || value.starts_with("${env.")
        || (counted && value.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_told_by_their_names() {
        for name in [
            "OPENAI_API_KEY",
            "api-key",
            "apiKey",
            "HMAC_KEY",
            "my.private-key",
            "DATABASE_DSN",
            "dsn",
            "passPhrase",
            "DB_PWD",
            "Authorization",
            "connection_string",
        ] {
            assert!(tells(name), "{name}");
        }
        for name in ["key", "secretName", "secretKeyRef", "topologyKey", "monkey", "PORT", "KEYS"] {
            assert!(!tells(name), "{name}");
        }
    }

    #[test]
    fn references_and_counts_are_shown() {
        for (name, value, shown) in [
            ("api_key", "${env.KEY}", true),
            ("max_tokens", "4096", true),
            ("token", "4096", false),
            ("tokens", "abc", false),
        ] {
            assert_eq!(may_be_shown(name, value), shown, "{name}: {value}");
        }
    }
}
