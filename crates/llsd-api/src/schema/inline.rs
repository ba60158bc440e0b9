//! Schemas that stand where their type is used, and not under the type's name.

/// `JsonSchema` for a type: its name, and a function from the generator to the schema.
macro_rules! inline_schema {
    ($type:ident $(<$entry:ident>)?, $name:expr, $schema:expr) => {
        impl $(<$entry: schemars::JsonSchema>)? schemars::JsonSchema for $type $(<$entry>)? {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let schema: fn(&mut schemars::SchemaGenerator) -> schemars::Schema = $schema;
                schema(generator)
            }
        }
    };
}

pub(crate) use inline_schema;
