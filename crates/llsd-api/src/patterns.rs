//! The patterns that strings of the resource must match, each with the words that tell a person what to
//! write: a regular expression tells few.

/// A string pattern of the schema, and what to write instead of a value that does not match it.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    pub regex: &'static str,
    pub remedy: &'static str,
}

pub(crate) const NO_BLANKS: &str = r"^\S+$";

/// What a quantity such as `500m` or `10Gi` looks like; the types of Kubernetes leave it open.
pub(crate) const QUANTITY: &str =
    r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$";

/// Letters, digits, `.`, `_` and `-`, with a letter or digit at both ends. The server would take
/// more, but a `/` makes `<provider>/<model>` ambiguous and `${` would be substituted.
pub const PROVIDER_ID: &str = "^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$";

/// A text that the server takes as it stands: nothing in it is replaced by an environment variable.
pub(crate) const LITERAL: &str = r"^([^$]|\$+[^${])*\$*$";

/// A URL without credentials, and without anything that the server would replace.
pub(crate) const URL: &str = r"^https?://[^\s@$]+$";

pub(crate) const COLLECTOR: &str = r"^https?://[^/@\s]+(/[^@\s]*)?$";

/// The name of a header.
pub(crate) const HEADER: &str = r"^[A-Za-z0-9-]+$";

/// A key of a ConfigMap.
pub(crate) const KEY: &str = r"^[a-zA-Z0-9]([a-zA-Z0-9\-_.]*[a-zA-Z0-9])?$";

pub(crate) const CIDR: &str = r"^[0-9a-fA-F.:]+(/[0-9]{1,3})?$";

pub(crate) const HOST: &str =
    r"^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

pub(crate) const ABSOLUTE_PATH: &str = "^(/.+)?$";

/// A path of the server, a beginning of paths, or a regular expression.
pub(crate) const ROUTE: &str = r"^(\*|/([^$]|\$+[^${])*\$*|regex:([^$]|\$+[^${])+\$*)$";

pub(crate) const TENANT: &str = r"^[a-z0-9][a-z0-9_-]{0,127}$";

/// All of them.
pub const PATTERNS: [Pattern; 13] = [
    Pattern { regex: NO_BLANKS, remedy: "write a value without blanks" },
    Pattern { regex: QUANTITY, remedy: "write a quantity of Kubernetes, for example 500m or 2Gi" },
    Pattern {
        regex: PROVIDER_ID,
        remedy: "use letters, digits, `.`, `_` and `-`, with a letter or digit at both ends",
    },
    Pattern {
        regex: LITERAL,
        remedy: "write the value itself: the server would replace what stands in ${…}",
    },
    Pattern {
        regex: URL,
        remedy: "write a URL that begins with http:// or https://, without credentials, blanks and `$`",
    },
    Pattern {
        regex: COLLECTOR,
        remedy: "write a URL that begins with http:// or https://, for example http://collector:4318",
    },
    Pattern { regex: HEADER, remedy: "use letters, digits and `-`, for example X-Forwarded-User" },
    Pattern {
        regex: KEY,
        remedy: "use letters, digits, `.`, `_` and `-`, for example ca-bundle.crt",
    },
    Pattern { regex: CIDR, remedy: "write an address or a network, for example 192.0.2.10/32" },
    Pattern {
        regex: HOST,
        remedy: "use lower-case letters, digits, `-` and `.`, for example stack.example.com",
    },
    Pattern { regex: ABSOLUTE_PATH, remedy: "begin the path with `/`" },
    Pattern {
        regex: ROUTE,
        remedy: "write a path that begins with `/`, `*` for all paths, or `regex:` with an expression",
    },
    Pattern {
        regex: TENANT,
        remedy: "use at most 128 lower-case letters, digits, `-` and `_`, beginning with a letter or digit",
    },
];

/// What to write instead of a value that does not match this pattern of the schema.
pub fn remedy(regex: &str) -> &'static str {
    let known = PATTERNS.iter().find(|pattern| pattern.regex == regex);
    known.map_or("see the description of the field", |pattern| pattern.remedy)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::crd::{described_v1alpha1, described_v1alpha2};

    fn patterns<'a>(schema: &'a Value, found: &mut Vec<&'a str>) {
        match schema {
            Value::Object(fields) => {
                found.extend(fields.get("pattern").and_then(Value::as_str));
                fields.values().for_each(|field| patterns(field, found));
            }
            Value::Array(items) => items.iter().for_each(|item| patterns(item, found)),
            _ => {}
        }
    }

    #[test]
    fn every_pattern_of_the_schemas_says_what_to_write() {
        for schema in [described_v1alpha1(), described_v1alpha2()] {
            let mut found = Vec::new();
            patterns(&schema, &mut found);
            assert!(!found.is_empty());
            for regex in found {
                let known = PATTERNS.iter().any(|pattern| pattern.regex == regex);
                assert!(known, "{regex} has no remedy in PATTERNS");
            }
        }
    }
}
