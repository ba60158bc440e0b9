//! Writes a document as block YAML that PyYAML (YAML 1.1) and kubectl read back as exactly what was
//! meant. A writer of our own, because each line must be able to say where it came from, and a
//! library's text does not tell which node a line belongs to.

use std::fmt::Write;

use serde_json::{Number, Value};

use super::scalar::stays_text;
use super::{Content, Node, Origin, literal};

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
    Writer { literals: false, sink: &mut sink }.document(node);
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
    Writer { literals, sink: &mut sink }.document(node);
    written
}

struct Writer<'s> {
    /// Whether text of several lines is written line by line.
    literals: bool,
    sink: &'s mut dyn FnMut(&str, &Origin),
}

impl Writer<'_> {
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
        let Some((text, header)) = text.and_then(|text| Some((text, literal::header(text)?)))
        else {
            line.push_str(&inline(node));
            return (self.sink)(&line, &node.origin);
        };
        line.push_str(header);
        (self.sink)(&line, &node.origin);
        let lead = " ".repeat(indent);
        for inner in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            let empty = inner.is_empty();
            (self.sink)(
                &if empty { String::new() } else { format!("{lead}{inner}") },
                &node.origin,
            );
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

/// PyYAML takes a number with an exponent for text unless it has a point and a signed exponent.
fn number_word(number: &Number) -> String {
    let text = number.to_string();
    let Some((mantissa, exponent)) = text.split_once(['e', 'E']) else { return text };
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with(['-', '+']) { "" } else { "+" };
    format!("{mantissa}{point}e{sign}{exponent}")
}

/// The text unquoted where every reader takes it for the same text, else in double quotes.
fn word(text: &str) -> String {
    if is_plain(text) && stays_text(text) && !surprises_kubectl(text) {
        return text.to_owned();
    }
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            c if needs_escape(c) => {
                let code = u32::from(c);
                let _ = match code {
                    0..=0xff => write!(quoted, "\\x{code:02x}"),
                    0x100..=0xffff => write!(quoted, "\\u{code:04x}"),
                    _ => write!(quoted, "\\U{code:08x}"),
                };
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Characters that may stand anywhere in an unquoted word, and those that may not begin or end it.
fn is_plain(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || "_./-${}=+@~,()<>;^".contains(c);
    let first = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '/' | '$' | '.');
    let mut previous = ' ';
    for (index, c) in text.char_indices() {
        let fine = match c {
            _ if index == 0 => first(c),
            // A colon ends a key unless a character follows; a blank next to `#` begins a comment.
            ':' => index + 1 < text.len() && !text[index + 1..].starts_with(' '),
            ' ' => previous != ' ' && index + 1 < text.len() && !text[index + 1..].starts_with('#'),
            _ => inner(c),
        };
        if !fine {
            return false;
        }
        previous = c;
    }
    !text.is_empty()
}

/// Words that only other readers of YAML 1.1 take for something else.
fn surprises_kubectl(text: &str) -> bool {
    matches!(text, "y" | "Y" | "n" | "N")
        || text.starts_with('.') && text[1..].starts_with(|c: char| c.is_ascii_digit())
}

/// What PyYAML does not accept literally, or folds as a line break.
pub(super) fn needs_escape(c: char) -> bool {
    matches!(u32::from(c),
        0..=0x1f | 0x7f..=0x9f | 0x2028 | 0x2029 | 0xfeff | 0xfffe | 0xffff)
        || (u32::from(c) > 0xffff && u32::from(c) & 0xfffe == 0xfffe)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::super::read;
    use super::*;

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
    #[case("yes", "\"yes\"")]
    #[case("0123", "\"0123\"")]
    #[case("12:30", "\"12:30\"")]
    #[case("1e5", "\"1e5\"")]
    #[case("n", "\"n\"")]
    #[case("~", "\"~\"")]
    #[case("", "\"\"")]
    #[case("a: b", "\"a: b\"")]
    #[case("a #b", "\"a #b\"")]
    #[case("a ", "\"a \"")]
    #[case("- a", "\"- a\"")]
    #[case("Grüße", "\"Grüße\"")]
    #[case("a\nb\u{2028}\u{7}", "\"a\\nb\\u2028\\x07\"")]
    #[case(
        "${env.VLLM_URL:=http://localhost:8000/v1}",
        "${env.VLLM_URL:=http://localhost:8000/v1}"
    )]
    #[case("inline::faiss", "inline::faiss")]
    #[case("~/.llama", "\"~/.llama\"")]
    #[case("a b", "a b")]
    fn text_is_quoted_where_a_reader_could_take_it_for_something_else(
        #[case] value: &str,
        #[case] written: &str,
    ) {
        assert_eq!(word(value), written);
        assert_eq!(read(&format!("k: {written}")).unwrap(), json!({ "k": value }));
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
}
