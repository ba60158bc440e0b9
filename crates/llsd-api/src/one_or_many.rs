//! A field that takes one object or a list of them: `providers.<api>`.

use schemars::json_schema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::lenient::Lenient;
use crate::schema::{ENTRY, SHAPE, Shape, inline_schema};

/// One entry, or a list of entries, as the user wrote it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum OneOrMany<T> {
    One(Lenient<T>),
    Many(Vec<Lenient<T>>),
}

impl<T> OneOrMany<T> {
    /// The entries in the order written, whichever shape they came in.
    pub fn entries(&self) -> &[Lenient<T>] {
        match self {
            Self::One(entry) => std::slice::from_ref(entry),
            Self::Many(entries) => entries,
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Value::deserialize(deserializer)? {
            Value::Array(entries) => {
                Self::Many(entries.into_iter().map(Lenient::from_value).collect())
            }
            other => Self::One(Lenient::from_value(other)),
        })
    }
}

inline_schema!(OneOrMany<T>, format!("OneOrMany{}", T::schema_name()), |generator| {
    json_schema!({ SHAPE: Shape::ObjectOrList, ENTRY: generator.subschema_for::<T>() })
});

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Entry {
        provider: String,
    }

    #[test]
    fn both_shapes_are_read_and_written_back_as_they_were() {
        for written in [
            json!({"provider": "vllm"}),
            json!([{"provider": "vllm"}, {"provider": "ollama"}]),
            json!([]),
        ] {
            let read: OneOrMany<Entry> = serde_json::from_value(written.clone()).unwrap();
            assert!(read.entries().iter().all(|entry| entry.understood().is_some()));
            assert_eq!(serde_json::to_value(&read).unwrap(), written);
        }
    }

    #[test]
    fn what_is_not_understood_is_kept_beside_what_is() {
        let written = json!([{"provider": "vllm"}, {"provider": 5}, null, "x"]);
        let read: OneOrMany<Entry> = serde_json::from_value(written.clone()).unwrap();
        let understood: Vec<bool> =
            read.entries().iter().map(|e| e.understood().is_some()).collect();
        assert_eq!(understood, [true, false, false, false]);
        assert_eq!(serde_json::to_value(&read).unwrap(), written);
        let scalar: OneOrMany<Entry> = serde_json::from_value(json!(true)).unwrap();
        assert_eq!(serde_json::to_value(&scalar).unwrap(), json!(true));
    }
}
