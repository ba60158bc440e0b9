//! The schema of a type, in two steps: *described*, made from the Rust types, where a field that
//! takes two shapes says so in one word; and *structural*, what the API server takes. Validation
//! in Rust walks the described schema, so both judge by the same source.

mod described;
mod inline;
mod structural;

use serde::{Deserialize, Serialize};

pub use described::described;
pub(crate) use inline::inline_schema;
pub use structural::{document_first_only, structural};

/// The keyword under which a described schema says that a field takes more than one shape.
pub const SHAPE: &str = "x-llsd-shape";
/// The keyword that holds the schema of the object among those shapes.
pub const ENTRY: &str = "x-llsd-entry";

/// The API server's keyword for fields that it keeps without knowing them.
pub const ANYTHING: &str = "x-kubernetes-preserve-unknown-fields";

/// The shapes that one field takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Shape {
    /// An object, or a list of such objects.
    ObjectOrList,
    /// A string, or an object.
    StringOrObject,
    /// A boolean, or an object.
    BoolOrObject,
    /// A secret reference in one of its two spellings.
    Secret,
    /// A string, or a secret reference.
    StringOrSecret,
    /// A string, or a list of strings.
    StringOrList,
}

impl Shape {
    /// What the field takes, in words that finish "must be …".
    pub fn expects(self) -> &'static str {
        match self {
            Self::ObjectOrList => "an object or a list of objects",
            Self::StringOrObject => "a name or an object",
            Self::BoolOrObject => "true, false or an object",
            Self::Secret => "a secret reference: {secretKeyRef: {name, key}} or {name, key}",
            Self::StringOrSecret => {
                "a string or a secret reference: {secretKeyRef: {name, key}} or {name, key}"
            }
            Self::StringOrList => "a string or a list of strings",
        }
    }
}
