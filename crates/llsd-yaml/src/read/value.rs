//! Reads a configuration as the server's PyYAML would, within bounds on what a hostile image can
//! ask for.

use serde_json::Value;
use serde_saphyr::granit_parser::{Event, Parser};

use super::assemble::Assembly;
use super::events::{options, position, syntax};
use crate::dialect::Dialect;
use crate::fault::Fault;
use crate::tree::Tree;

/// The longest text that is read; the largest configuration ever shipped has 30 KB.
const MAX_BYTES: usize = 4 << 20;

/// The one document of `text`.
pub fn value(text: &str) -> Result<Value, Fault> {
    if text.len() > MAX_BYTES {
        return Err(Fault::too_long(MAX_BYTES));
    }
    let dialect = Dialect::PyYaml;
    let mut parser = Parser::new_from_str_with_options(text, options(dialect));
    let mut budget = dialect.bounds().nodes;
    let mut assembly = Assembly::new(dialect, &mut budget);
    let mut documents = 0;
    while let Some(next) = parser.next_event() {
        let (event, span) =
            next.map_err(|error| syntax(&error, position(error.marker()), dialect))?;
        let at = position(&span.start);
        if matches!(event, Event::DocumentStart(..)) {
            documents += 1;
        }
        if documents > 1 {
            return Err(Fault::invalid(at, "more than one document", "remove the others"));
        }
        assembly.take(event, &span, at)?;
    }
    Ok(assembly.finish().as_ref().map_or(Value::Null, Tree::to_json))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use serde_json::json;

    use super::*;

    #[test]
    fn anchors_merges_and_repeated_keys_read_as_the_server_reads_them() {
        let text = "a: &a {x: 1, y: on}\nb: {<<: *a, x: 2}\nc: [*a, 'on']\nc: last\n";
        assert_eq!(
            value(text).unwrap(),
            json!({"a": {"x": 1, "y": true}, "b": {"x": 2, "y": true}, "c": "last"})
        );
    }

    #[test]
    fn hostile_documents_are_refused_within_bounds() {
        let mut bomb = String::from("a0: &a0 [x, x]\n");
        for level in 1..40 {
            let below = level - 1;
            let _ = writeln!(bomb, "a{level}: &a{level} [*a{below}, *a{below}]");
        }
        assert!(value(&bomb).unwrap_err().message.contains("100000 keys"));
        let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), "*a, ".repeat(1_000));
        assert!(value(&long).unwrap_err().message.contains("100000 keys"));
        assert!(value(&"[".repeat(100_000)).is_err());
        let keys = "a-key-of-some-length: 1\n".repeat(200_000);
        assert!(keys.len() > MAX_BYTES);
        assert_eq!(value(&keys).unwrap_err().message, "longer than 4 MiB");
        assert!(value("a: *a").is_err());
        assert!(value("&a [*a]").is_err());
        assert!(value("a: 1\n---\nb: 2\n").is_err());
        assert!(value("1: x").is_err());
        assert!(value("a: !!python/object:os.system x").is_err());
    }
}
