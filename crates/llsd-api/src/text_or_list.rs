//! Texts of access rules, and a field that takes one or a list of them: the conditions. The value itself is
//! a [`OneOrMany`](crate::one_or_many::OneOrMany) of strings; here is only its schema.

use schemars::json_schema;

use crate::patterns::LITERAL;
use crate::schema::{ENTRY, SHAPE, Shape, inline_schema};

/// The schema of a text or a list of texts, none of which refers to a variable.
pub(crate) struct TextOrList;

inline_schema!(TextOrList, "TextOrList", |_| {
    let entry = json_schema!({
        "type": "string", "minLength": 1, "maxLength": 512, "pattern": LITERAL,
    });
    json_schema!({ SHAPE: Shape::StringOrList, ENTRY: entry })
});
