//! What a secret value looks like, and a value of the same look that tells nothing: a server checks a
//! configuration by the form of its values, and no secret leaves its Secret for that.

use serde::{Deserialize, Serialize};

use crate::server::coercion::coerced;

/// What a value looks like. Of URLs the schemes that servers tell apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    #[default]
    Text,
    Number,
    Pem,
    Http,
    Https,
    Redis,
    Rediss,
    Postgres,
    Postgresql,
    Grpc,
}

const URLS: [(&str, Shape); 7] = [
    ("http", Shape::Http),
    ("https", Shape::Https),
    ("redis", Shape::Redis),
    ("rediss", Shape::Rediss),
    ("postgres", Shape::Postgres),
    ("postgresql", Shape::Postgresql),
    ("grpc", Shape::Grpc),
];

impl Shape {
    pub fn of_value(text: &str) -> Self {
        if coerced(text) {
            return Self::Number;
        }
        if text.trim_start().starts_with("-----BEGIN ") {
            return Self::Pem;
        }
        let scheme = text.split_once("://").map(|(scheme, _)| scheme).unwrap_or_default();
        let known = URLS.iter().find(|(known, _)| scheme.eq_ignore_ascii_case(known));
        known.map_or(Self::Text, |(_, shape)| *shape)
    }

    pub fn is_text(&self) -> bool {
        *self == Self::Text
    }

    /// A value that stands in for one of this shape.
    pub fn placeholder(self) -> String {
        match self {
            Self::Text => "placeholder".to_owned(),
            Self::Number => "1".to_owned(),
            Self::Pem => {
                let body = "cGxhY2Vob2xkZXI=";
                format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n")
            }
            url => {
                let known = URLS.iter().find(|(_, shape)| *shape == url);
                let scheme = known.map_or("http", |(scheme, _)| scheme);
                format!("{scheme}://placeholder.invalid")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("sk-very-secret", "placeholder")]
    #[case("", "placeholder")]
    #[case("12345", "1")]
    #[case("true", "1")]
    #[case("https://user:pass@host:8000/path?q", "https://placeholder.invalid")]
    #[case("rediss://host", "rediss://placeholder.invalid")]
    #[case("hunter2://x", "placeholder")]
    fn a_value_is_stood_in_for_by_one_that_tells_nothing(
        #[case] value: &str,
        #[case] expected: &str,
    ) {
        assert_eq!(Shape::of_value(value).placeholder(), expected);
        assert_eq!(Shape::of_value(&Shape::of_value(value).placeholder()), Shape::of_value(value));
    }

    #[test]
    fn a_certificate_stays_one_by_its_look() {
        let shape = Shape::of_value("-----BEGIN RSA PRIVATE KEY-----\nsecret");
        assert_eq!(shape, Shape::Pem);
        assert!(!shape.placeholder().contains("secret"));
    }
}
