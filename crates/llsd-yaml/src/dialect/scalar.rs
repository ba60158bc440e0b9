//! A scalar with the type that a reader gives it.

use serde_json::{Number, Value};

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar {
    Null,
    Bool(bool),
    Text(String),
    /// A number as the server takes it: JSON holds it as it is.
    Number(Number),
    /// An integer of kubectl's reader.
    Int(i64),
    /// An integer of kubectl's reader beyond `i64`: a number as a value, refused as a key.
    Big(u64),
    /// A float of kubectl's reader, infinities and not-a-number included.
    Float(f64),
}

impl Scalar {
    /// The value as JSON, or nothing for infinities and not-a-number, which JSON cannot hold.
    pub(crate) fn to_json(&self) -> Option<Value> {
        Some(match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Text(text) => Value::String(text.clone()),
            Self::Number(number) => Value::Number(number.clone()),
            Self::Int(value) => Value::from(*value),
            #[allow(clippy::cast_precision_loss)] // The API server's own number type beyond i64.
            Self::Big(value) => Value::from(*value as f64),
            Self::Float(value) => float_to_json(*value)?,
        })
    }
}

/// Whole floats reach the API server without a point, so there `8321.0` is the integer 8321.
fn float_to_json(value: f64) -> Option<Value> {
    const BEYOND_I64: f64 = 9_223_372_036_854_775_808.0;
    if value.fract() == 0.0 && value.abs() < BEYOND_I64 {
        #[allow(clippy::cast_possible_truncation)] // Whole, and in range.
        return Some(Value::from(value as i64));
    }
    Number::from_f64(value).map(Value::Number)
}
