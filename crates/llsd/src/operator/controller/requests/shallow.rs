//! Reads JSON of any depth and length without going deeper than a resource may be nested or further than it may
//! hold values, and leaves out what lies beyond. kube's own reading fails where it is too deep, for a whole list
//! or watch, and where it is too long takes all memory.

use std::cell::Cell;
use std::fmt;

use llsd_plan::validate::{DEEPEST, MOST_VALUES};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// How deep the whole is read, and how many values below each of its fields: one more than is accepted, so that
/// it is seen to be too much. A spec that is too long takes no room from the status beside it.
const LEVELS: usize = DEEPEST + 1;
const VALUES: usize = MOST_VALUES + 1;

/// Reads a value.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    Budget { levels: LEVELS, values: &Cell::new(VALUES) }.deserialize(deserializer)
}

/// How many levels may still be entered, and how many values read.
#[derive(Clone, Copy)]
struct Budget<'r> {
    levels: usize,
    values: &'r Cell<usize>,
}

impl<'de> DeserializeSeed<'de> for Budget<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Budget<'_> {
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
        Ok(self.without_the_rest(items.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(below) = self.below() {
            let Some(key) = object.next_key()? else { return Ok(fields.into()) };
            fields.insert(key, object.next_value_seed(below)?);
        }
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(self.without_the_rest(fields.into()))
    }
}

impl Budget<'_> {
    /// Room for one value more, a level further down.
    fn below(self) -> Option<Self> {
        let levels = self.levels.checked_sub(1)?;
        let values = if self.levels == LEVELS { VALUES } else { self.values.get() };
        self.values.set(values.checked_sub(1)?);
        Some(Self { levels, ..self })
    }

    /// What was read of a list or an object that is left out from some level, or value, on.
    fn without_the_rest(self, read: Value) -> Value {
        if self.levels == 0 { Value::Null } else { read }
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

    #[test]
    fn what_holds_too_many_values_is_cut_off_and_seen_to() {
        let zeros = format!("[{}0]", "0,".repeat(500_000));
        let text = format!("{{\"metadata\": {{\"name\": \"n\"}}, \"spec\": {zeros}, \"z\": 1}}");
        let read = read_text(&text);
        assert_eq!(read["metadata"]["name"], "n");
        assert_eq!((read["spec"].as_array().unwrap().len(), &read["z"]), (MOST_VALUES, &json!(1)));
        let found = llsd_plan::validate::validate(&read);
        assert!(found.problems.contains(&llsd_plan::validate::too_many()), "{found:?}");
    }
}
