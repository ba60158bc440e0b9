//! A field that takes one text or a list of them: the conditions of access rules. The value itself is
//! a [`OneOrMany`](crate::one_or_many::OneOrMany) of strings; here is only its schema.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::schema::{ENTRY, SHAPE, Shape};

/// The schema of a text or a list of texts, none of which refers to a variable.
pub(crate) struct TextOrList;

impl JsonSchema for TextOrList {
    fn schema_name() -> Cow<'static, str> {
        "TextOrList".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let entry = json_schema!({
            "type": "string", "minLength": 1, "maxLength": 512, "pattern": r"^([^$]|\$+[^${])*\$*$",
        });
        json_schema!({ SHAPE: Shape::StringOrList, ENTRY: entry })
    }
}
