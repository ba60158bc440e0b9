//! A value that is kept as written when it cannot be read as its type.
//!
//! The fields that take two shapes are untyped to the API server, so an object it holds may have
//! anything there. Reading must not fail as a whole because of one entry: validation wants to
//! name that entry's path, and the other entries must stay usable.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// `T` where the value could be read, else the value itself.
#[derive(Clone, Debug, PartialEq)]
pub enum Lenient<T> {
    Read(T),
    Unread(Value),
}

impl<T> Lenient<T> {
    pub fn understood(&self) -> Option<&T> {
        match self {
            Self::Read(value) => Some(value),
            Self::Unread(_) => None,
        }
    }
}

impl<T: DeserializeOwned> Lenient<T> {
    pub fn from_value(value: Value) -> Self {
        match T::deserialize(&value) {
            Ok(read) => Self::Read(read),
            Err(_) => Self::Unread(value),
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from_value)
    }
}

impl<T: Serialize> Serialize for Lenient<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Read(value) => value.serialize(serializer),
            Self::Unread(value) => value.serialize(serializer),
        }
    }
}

impl<T: JsonSchema> JsonSchema for Lenient<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}
