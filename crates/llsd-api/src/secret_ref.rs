//! A reference to one key of a Secret, in either of its two spellings, and a host that may be one.

use schemars::{JsonSchema, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::lenient::Lenient;
use crate::schema::{ENTRY, SHAPE, Shape, inline_schema};

/// One key of a Secret in the resource's own namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretKey {
    /// The Secret's name.
    #[schemars(length(min = 1))]
    pub name: String,
    /// The key within the Secret.
    #[schemars(length(min = 1))]
    pub key: String,
}

/// `{secretKeyRef: {name, key}}` or `{name, key}`, as the user wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SecretRef {
    Nested(Nested),
    Flat(SecretKey),
}

/// The spelling that Kubernetes uses for environment variables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Nested {
    pub secret_key_ref: SecretKey,
}

impl SecretRef {
    /// The key that is meant, whichever spelling was used.
    pub fn target(&self) -> &SecretKey {
        match self {
            Self::Nested(nested) => &nested.secret_key_ref,
            Self::Flat(target) => target,
        }
    }
}

inline_schema!(SecretRef, "SecretRef", |generator| {
    json_schema!({ SHAPE: Shape::Secret, ENTRY: generator.subschema_for::<SecretKey>() })
});

/// A host name, in clear or from a Secret.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Host {
    Literal(String),
    Secret(Lenient<SecretRef>),
}

impl<'de> Deserialize<'de> for Host {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Value::deserialize(deserializer)? {
            Value::String(host) => Self::Literal(host),
            other => Self::Secret(Lenient::from_value(other)),
        })
    }
}

inline_schema!(Host, "Host", |generator| {
    json_schema!({ SHAPE: Shape::StringOrSecret, ENTRY: generator.subschema_for::<SecretKey>() })
});

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_spellings_mean_the_same_key_and_are_written_back_as_they_were() {
        for written in [
            json!({"secretKeyRef": {"name": "creds", "key": "token"}}),
            json!({"name": "creds", "key": "token"}),
        ] {
            let read: SecretRef = serde_json::from_value(written.clone()).unwrap();
            assert_eq!(read.target(), &SecretKey { name: "creds".into(), key: "token".into() });
            assert_eq!(serde_json::to_value(&read).unwrap(), written);
        }
    }

    #[test]
    fn a_mixture_of_the_spellings_is_kept_but_not_read() {
        let written = json!({"secretKeyRef": {"name": "a", "key": "b"}, "name": "c", "key": "d"});
        let read: Host = serde_json::from_value(written.clone()).unwrap();
        assert!(matches!(&read, Host::Secret(Lenient::Unread(_))));
        assert_eq!(serde_json::to_value(&read).unwrap(), written);
    }
}
