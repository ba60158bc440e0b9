//! Writes a document as block YAML that PyYAML (YAML 1.1) and kubectl read back as exactly what was
//! meant. A writer of our own, because each line must be able to say where it came from, and a
//! library's text does not tell which node a line belongs to.

use serde_json::Value;

use super::node::{Content, Node, Origin};
use super::word::{literal_header, number_word, word};

/// One line of the text and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub text: String,
    pub origin: Origin,
}

/// The document's lines, each with its origin. A line holds whole values, so that a comment can
/// follow it.
pub fn lines(node: &Node) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut sink = |text: &str, origin: &Origin| {
        lines.push(Line { text: text.to_owned(), origin: origin.clone() });
    };
    DocumentWriter { literals: false, sink: &mut sink }.document(node);
    lines
}

/// The document as text.
pub fn text(node: &Node) -> String {
    joined(node, false)
}

/// An object of Kubernetes as text; in contrast to [`text`], a value of several lines, such as a
/// file in a ConfigMap, stands there line by line.
pub fn manifest(object: &Value) -> String {
    joined(&Node::from_value(object.clone(), &Origin::Base), true)
}

fn joined(node: &Node, literals: bool) -> String {
    let mut written = String::new();
    let mut sink = |text: &str, _: &Origin| {
        written.push_str(text);
        written.push('\n');
    };
    DocumentWriter { literals, sink: &mut sink }.document(node);
    written
}

struct DocumentWriter<'s> {
    /// Whether text of several lines is written line by line.
    literals: bool,
    sink: &'s mut dyn FnMut(&str, &Origin),
}

impl DocumentWriter<'_> {
    fn document(&mut self, node: &Node) {
        match &node.content {
            Content::Map(fields) if !fields.is_empty() => self.map(fields, 0, ""),
            Content::List(items) if !items.is_empty() => self.list(items, 0, ""),
            _ => (self.sink)(&inline(node), &node.origin),
        }
    }

    /// `lead` is what stands before the first line: the dashes of lists that begin there.
    fn map(&mut self, fields: &[(String, Node)], indent: usize, lead: &str) {
        for (index, (key, node)) in fields.iter().enumerate() {
            let mut line = if index == 0 { lead.to_owned() } else { " ".repeat(indent) };
            line.push_str(&word(key));
            line.push(':');
            match &node.content {
                Content::Map(fields) if !fields.is_empty() => {
                    (self.sink)(&line, &node.origin);
                    self.map(fields, indent + 2, &" ".repeat(indent + 2));
                }
                // A list stands at its key's own indentation, as kubectl writes it.
                Content::List(items) if !items.is_empty() => {
                    (self.sink)(&line, &node.origin);
                    self.list(items, indent, &" ".repeat(indent));
                }
                _ => {
                    line.push(' ');
                    self.value(line, node, indent + 2);
                }
            }
        }
    }

    fn list(&mut self, items: &[Node], indent: usize, lead: &str) {
        for (index, node) in items.iter().enumerate() {
            let mut line = if index == 0 { lead.to_owned() } else { " ".repeat(indent) };
            line.push_str("- ");
            match &node.content {
                Content::Map(fields) if !fields.is_empty() => self.map(fields, indent + 2, &line),
                Content::List(items) if !items.is_empty() => self.list(items, indent + 2, &line),
                _ => self.value(line, node, indent + 2),
            }
        }
    }

    /// Ends `line` with a value that is no collection; `indent` is where further lines begin.
    fn value(&mut self, mut line: String, node: &Node, indent: usize) {
        let text = node.as_str().filter(|_| self.literals);
        let Some((text, header)) = text.and_then(|text| Some((text, literal_header(text)?))) else {
            line.push_str(&inline(node));
            return (self.sink)(&line, &node.origin);
        };
        line.push_str(header);
        (self.sink)(&line, &node.origin);
        let lead = " ".repeat(indent);
        for inner in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            let lead = if inner.is_empty() { "" } else { &lead };
            (self.sink)(&format!("{lead}{inner}"), &node.origin);
        }
    }
}

fn inline(node: &Node) -> String {
    match &node.content {
        Content::List(_) => "[]".to_owned(),
        Content::Map(_) => "{}".to_owned(),
        Content::Scalar(Value::String(text)) => word(text),
        Content::Scalar(Value::Number(number)) => number_word(number),
        Content::Scalar(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::read::value as read;

    #[test]
    fn the_layout_is_what_people_know_from_kubectl() {
        let value = json!({
            "version": 2,
            "apis": ["inference", "safety"],
            "providers": {"inference": [
                {"provider_id": "vllm", "config": {"base_url": "http://vllm:8000/v1", "x": {}}},
                [1, [2]],
            ]},
            "empty": [],
        });
        let written = text(&Node::from_value(value.clone(), &Origin::Base));
        assert_eq!(
            written,
            "version: 2\napis:\n- inference\n- safety\nproviders:\n  inference:\n  - provider_id: vllm\n    config:\n      base_url: http://vllm:8000/v1\n      x: {}\n  - - 1\n    - - 2\nempty: []\n"
        );
        assert_eq!(read(&written).unwrap(), value);
    }

    #[rstest]
    #[case(json!(1e-7), "1.0e-7")]
    #[case(json!(1e300), "1.0e+300")]
    #[case(json!(0.5), "0.5")]
    #[case(json!(12), "12")]
    fn numbers_stay_numbers(#[case] value: Value, #[case] written: &str) {
        let node = Node::from_value(value.clone(), &Origin::Base);
        assert_eq!(inline(&node), written);
        assert_eq!(read(written).unwrap(), value);
    }

    #[test]
    fn a_file_in_a_config_map_stands_there_line_by_line() {
        let object =
            json!({"data": {"config.yaml": "version: 2\n\napis:\n- safety\n"}, "list": ["a\n b"]});
        let written = manifest(&object);
        assert_eq!(
            written,
            "data:\n  config.yaml: |\n    version: 2\n\n    apis:\n    - safety\nlist:\n- |-\n  a\n   b\n"
        );
        assert_eq!(read(&written).unwrap(), object);
    }

    #[rstest]
    #[case("a\n")]
    #[case("a\nb")]
    #[case("a\n\n\n")]
    #[case("a\n   \n  b \n")]
    #[case("a\n---\n# b\n...\n")]
    #[case("\na\n")]
    #[case(" a\nb\n")]
    #[case("\n")]
    #[case("\n\n")]
    #[case("a\tb\n\tc\n")]
    #[case("a\r\nb\r\n")]
    #[case("a\u{85}b\n\u{2028}\n")]
    #[case("Grüße\n")]
    fn every_text_is_read_back_as_it_was(#[case] text: &str) {
        let object = json!({"a": text, "b": [text, {"c": text, "d": 1}], "e": {"f": text}});
        assert_eq!(read(&manifest(&object)).unwrap(), object, "{}", manifest(&object));
    }
}
