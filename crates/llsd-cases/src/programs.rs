//! Programs in objects. They are files of their own; in what is compared their names are enough.

use llsd_plan::objects::{TRUST, start_program};
use llsd_provider::python::TELL;
use serde_json::Value;

/// Puts the names of programs in their places.
pub fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text == TRUST => *text = "(trust.py)".into(),
        Value::String(text) if text == TELL => *text = "(tell.py)".into(),
        Value::String(text) => {
            let file = start_program::FILES.iter().find(|(_, program)| text == program);
            *text = match file {
                Some((name, _)) => format!("({name})"),
                None => without_hash(text),
            };
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}

/// The start program's name carries its hash, which says nothing here.
pub fn without_hash(text: &str) -> String {
    text.replace(start_program::name(), "start-program.(hash)")
}
