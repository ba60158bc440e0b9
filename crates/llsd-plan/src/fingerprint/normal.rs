//! The normal form of what is owned of an object, hashed while it is written. Which fields those
//! are is up to the two sides that write it.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::schema::{self, DEFAULTS};
use crate::values::quantity::nanos;

/// Where a value stands: its field, and the field around that. An item of a list stands where its
/// list does.
#[derive(Clone, Copy)]
pub(super) struct Position<'a> {
    parent: &'a str,
    pub(super) name: &'a str,
}

impl<'a> Position<'a> {
    pub(super) const ROOT: Self = Self { parent: "", name: "" };

    pub(super) fn field(self, name: &'a str) -> Self {
        Self { parent: self.name, name }
    }

    fn is_quantity(self) -> bool {
        schema::is_quantity(self.parent, self.name)
    }
}

/// Takes the normal form in pieces. Texts are preceded by their length, so that no two forms give
/// the same bytes.
#[derive(Default)]
pub(super) struct Normal(Sha256);

impl Normal {
    pub(super) fn finish(self) -> [u8; 16] {
        let mut first = [0; 16];
        first.copy_from_slice(&self.0.finalize()[..16]);
        first
    }

    /// A map's fields follow in the order of their names.
    pub(super) fn open_map(&mut self) {
        self.0.update(b"{");
    }

    pub(super) fn open_list(&mut self) {
        self.0.update(b"[");
    }

    pub(super) fn close(&mut self) {
        self.0.update(b"]");
    }

    pub(super) fn key(&mut self, name: &str) {
        self.text(b'k', name);
    }

    /// A field by itself, which others cannot own in part.
    pub(super) fn leaf(&mut self, position: Position, value: Option<&Value>) {
        match value {
            // We own that the map is there; what is in it is of others, or of the server.
            Some(Value::Object(_)) if !schema::is_atomic_map(position.name) => self.empty(),
            Some(value) if !is_empty(value) => self.whole(position, value),
            // As a quantity the number is stored as a text.
            Some(zero @ Value::Number(_)) if position.is_quantity() => self.scalar(position, zero),
            _ => self.empty(),
        }
    }

    /// A value with everything in it.
    pub(super) fn whole(&mut self, position: Position, value: &Value) {
        match value {
            Value::Object(fields) => {
                self.open_map();
                for (name, value) in in_order(fields) {
                    if differs_from_absent(position, name, value) {
                        self.key(name);
                        self.whole(position.field(name), value);
                    }
                }
                self.close();
            }
            Value::Array(items) => {
                self.open_list();
                for item in items {
                    self.whole(position, item);
                }
                self.close();
            }
            scalar => self.scalar(position, scalar),
        }
    }

    fn scalar(&mut self, position: Position, value: &Value) {
        if position.is_quantity()
            && let Some(nanos) = as_nanos(value)
        {
            self.0.update(b"q");
            return self.0.update(nanos.to_le_bytes());
        }
        match value {
            Value::String(text) => self.text(b's', text),
            Value::Number(number) => self.text(b'n', &number.to_string()),
            Value::Bool(true) => self.0.update(b"t"),
            Value::Bool(false) => self.0.update(b"f"),
            Value::Null | Value::Array(_) | Value::Object(_) => self.0.update(b"0"),
        }
    }

    fn empty(&mut self) {
        self.0.update(b"-");
    }

    fn text(&mut self, tag: u8, text: &str) {
        self.0.update([tag]);
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text);
    }
}

/// The fields of a map by their names.
pub(super) fn in_order(fields: &Map<String, Value>) -> Vec<(&str, &Value)> {
    let mut sorted: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), value)).collect();
    sorted.sort_unstable_by_key(|(name, _)| *name);
    sorted
}

/// What Go leaves out when it writes a field that holds it, unless the field is a pointer.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

/// Whether a field inside of an atomic value differs from its not being there. An empty map does,
/// as a selector does that selects everything; so do `false` and `0`, as a toleration of 0 seconds
/// does.
fn differs_from_absent(position: Position, name: &str, value: &Value) -> bool {
    match value {
        Value::Null => return false,
        Value::Array(items) if items.is_empty() => return false,
        Value::String(text) if text.is_empty() => return schema::has_free_keys(position.name),
        _ => {}
    }
    let default =
        DEFAULTS.iter().find(|(parent, field, _)| (*parent, *field) == (position.name, name));
    default.is_none_or(|(_, _, default)| match value {
        Value::String(text) if position.field(name).is_quantity() => nanos(text) != nanos(default),
        Value::String(text) => text != default,
        Value::Number(number) => number.as_i64() != default.parse().ok(),
        _ => true,
    })
}

fn as_nanos(value: &Value) -> Option<i128> {
    match value {
        Value::String(text) => nanos(text),
        Value::Number(number) => nanos(&number.to_string()),
        _ => None,
    }
}
