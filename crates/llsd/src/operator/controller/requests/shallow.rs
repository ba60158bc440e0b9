//! Reads JSON of any depth without going deeper than a resource may be nested, and leaves out what
//! lies below. kube's own reading fails there, for a whole list or watch.

use std::fmt;

use llsd_plan::validate::DEEPEST;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Reads a value. One level more than is accepted is kept, so that it is seen to be too deep.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    Levels(DEEPEST + 1).deserialize(deserializer)
}

/// How many levels may still be entered.
#[derive(Clone, Copy)]
struct Levels(usize);

impl<'de> DeserializeSeed<'de> for Levels {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Levels {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(below) = self.below() {
            let Some(item) = list.next_element_seed(below)? else { return Ok(items.into()) };
            items.push(item);
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Null)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(below) = self.below() {
            let Some(key) = object.next_key()? else { return Ok(fields.into()) };
            fields.insert(key, object.next_value_seed(below)?);
        }
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Value::Null)
    }
}

impl Levels {
    fn below(self) -> Option<Self> {
        self.0.checked_sub(1).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_text(text: &str) -> Value {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let value = deserialize(&mut deserializer).unwrap();
        deserializer.end().unwrap();
        value
    }

    #[test]
    fn what_is_not_too_deep_is_read_as_it_is() {
        let value = json!({"a": [null, true, -1, u64::MAX, 0.5, "x\n", {}, []], "b": {"c": "ä"}});
        assert_eq!(read_text(&value.to_string()), value);
        let deep = format!("{}1{}", "[".repeat(DEEPEST), "]".repeat(DEEPEST));
        assert_eq!(read_text(&deep).to_string(), deep);
    }

    #[test]
    fn what_lies_too_deep_is_left_out_and_seen_to_be() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let deep = format!("{}[1]{}", open.repeat(9_000), close.repeat(9_000));
            let text = format!("{{\"metadata\": {{\"name\": \"n\"}}, \"spec\": {deep}, \"z\": 1}}");
            let read = read_text(&text);
            assert_eq!((&read["metadata"]["name"], &read["z"]), (&json!("n"), &json!(1)));
            let found = llsd_plan::validate::validate(&read);
            assert!(found.problems.contains(&llsd_plan::validate::too_deep()), "{found:?}");
        }
    }
}
