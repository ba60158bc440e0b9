//! A list item that is a bare name or an object with more to say: models, tools and shields.

use schemars::json_schema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::lenient::Lenient;
use crate::schema::{ENTRY, SHAPE, Shape, inline_schema};

/// `"llama3.2"` or `{name: llama3.2, …}`, as the user wrote it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum NameOrEntry<T> {
    Name(String),
    Entry(Lenient<T>),
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for NameOrEntry<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Value::deserialize(deserializer)? {
            Value::String(name) => Self::Name(name),
            other => Self::Entry(Lenient::from_value(other)),
        })
    }
}

inline_schema!(NameOrEntry<T>, format!("NameOr{}", T::schema_name()), |generator| {
    json_schema!({ SHAPE: Shape::StringOrObject, ENTRY: generator.subschema_for::<T>() })
});
