//! Reads a base configuration as the server's PyYAML would, within bounds on what a hostile image
//! can ask for.

use std::collections::HashMap;
use std::rc::Rc;

use serde_json::{Map, Value};
use serde_saphyr::granit_parser::{Event, Options, Parser, ScalarStyle, Tag, options};

use super::scalar;

/// The longest text that is looked at; the largest configuration ever shipped has 30 KB.
pub const MAX_BYTES: usize = 4 << 20;
const MAX_DEPTH: usize = 64;
/// Keys and values with every alias written out.
const MAX_NODES: usize = 100_000;

/// A text that is no configuration, with its place: line and column, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    pub line: usize,
    pub column: usize,
    pub message: String,
}

/// The one document of `text`.
pub fn read(text: &str) -> Result<Value, Unreadable> {
    if text.len() > MAX_BYTES {
        let message = format!("longer than {} MiB", MAX_BYTES >> 20);
        return Err(Unreadable { line: 1, column: 1, message });
    }
    let mut parser = Parser::new_from_str_with_options(text, parser_options());
    let mut builder = Builder::default();
    let mut documents = 0;
    while let Some(next) = parser.next_event() {
        let (event, mark) = match next {
            Ok((event, span)) => (event, span.start),
            Err(error) => {
                let mark = *error.marker();
                let message = format!("not valid YAML: {}", error.info());
                return Err(Unreadable { line: mark.line(), column: mark.col() + 1, message });
            }
        };
        if matches!(event, Event::DocumentStart(..)) {
            documents += 1;
        }
        let taken = if documents > 1 {
            Err("more than one document".to_owned())
        } else {
            builder.take(event)
        };
        taken.map_err(|message| Unreadable {
            line: mark.line(),
            column: mark.col() + 1,
            message,
        })?;
    }
    Ok(builder.root.unwrap_or(Value::Null))
}

fn parser_options() -> Options {
    options! { emit_comments: false, flow_nesting_limit: MAX_DEPTH, block_nesting_limit: MAX_DEPTH }
}

#[derive(Debug, Default)]
struct Builder {
    frames: Vec<Frame>,
    anchors: HashMap<usize, Rc<Anchored>>,
    nodes: usize,
    root: Option<Value>,
}

/// A finished value that an alias may repeat, with its size written out.
#[derive(Debug)]
struct Anchored {
    value: Value,
    nodes: usize,
    depth: usize,
}

#[derive(Debug)]
struct Frame {
    anchor: usize,
    /// Nodes counted before this one began.
    nodes_before: usize,
    collection: Collection,
}

#[derive(Debug)]
enum Collection {
    List(Vec<Value>),
    Map { fields: Map<String, Value>, merged: Map<String, Value>, key: Option<Key> },
}

#[derive(Debug)]
enum Key {
    Name(String),
    Merge,
}

impl Builder {
    fn take(&mut self, event: Event<'_>) -> Result<(), String> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain;
                if plain && tag.is_none() && text == "<<" && self.wants_key() {
                    return self.set_key(Key::Merge);
                }
                let value = scalar_value(&text, plain, tag.as_deref())?;
                self.spend(1)?;
                self.put(anchor, value, 1, 1)
            }
            Event::SequenceStart(_, anchor, _) => self.open(anchor, Collection::List(Vec::new())),
            Event::MappingStart(_, anchor, _) => self.open(
                anchor,
                Collection::Map { fields: Map::new(), merged: Map::new(), key: None },
            ),
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(anchor) => {
                let Some(target) = self.anchors.get(&anchor).cloned() else {
                    return Err("an alias stands inside the value it points to".to_owned());
                };
                self.spend(target.nodes)?;
                if self.frames.len() + target.depth > MAX_DEPTH {
                    return Err(too_deep());
                }
                self.put(0, target.value.clone(), target.nodes, target.depth)
            }
            _ => Ok(()),
        }
    }

    fn spend(&mut self, nodes: usize) -> Result<(), String> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > MAX_NODES {
            return Err(format!("more than {MAX_NODES} keys and values, aliases written out"));
        }
        Ok(())
    }

    fn open(&mut self, anchor: usize, collection: Collection) -> Result<(), String> {
        if self.frames.len() >= MAX_DEPTH {
            return Err(too_deep());
        }
        let nodes_before = self.nodes;
        self.spend(1)?;
        self.frames.push(Frame { anchor, nodes_before, collection });
        Ok(())
    }

    fn close(&mut self) -> Result<(), String> {
        let Some(Frame { anchor, nodes_before, collection }) = self.frames.pop() else {
            return Ok(());
        };
        let value = match collection {
            Collection::List(items) => Value::Array(items),
            Collection::Map { fields, mut merged, .. } => {
                // A key of the mapping itself wins over a merged one, wherever it stands.
                merged.extend(fields);
                Value::Object(merged)
            }
        };
        let depth = depth(&value);
        self.put(anchor, value, self.nodes - nodes_before, depth)
    }

    fn put(
        &mut self,
        anchor: usize,
        value: Value,
        nodes: usize,
        depth: usize,
    ) -> Result<(), String> {
        if anchor != 0 {
            self.anchors.insert(anchor, Rc::new(Anchored { value: value.clone(), nodes, depth }));
        }
        match self.frames.last_mut().map(|frame| &mut frame.collection) {
            None => self.root = Some(value),
            Some(Collection::List(items)) => items.push(value),
            Some(Collection::Map { fields, merged, key }) => match key.take() {
                None => match value {
                    Value::String(name) => *key = Some(Key::Name(name)),
                    _ => return Err("a key that is not text".to_owned()),
                },
                // The last of several equal keys counts, as for PyYAML.
                Some(Key::Name(name)) => {
                    fields.insert(name, value);
                }
                Some(Key::Merge) => merge(merged, value)?,
            },
        }
        Ok(())
    }

    fn wants_key(&self) -> bool {
        matches!(
            self.frames.last(),
            Some(Frame { collection: Collection::Map { key: None, .. }, .. })
        )
    }

    fn set_key(&mut self, name: Key) -> Result<(), String> {
        if let Some(Frame { collection: Collection::Map { key, .. }, .. }) = self.frames.last_mut()
        {
            *key = Some(name);
        }
        self.spend(1)
    }
}

/// In a list of merged mappings the first one wins.
fn merge(merged: &mut Map<String, Value>, value: Value) -> Result<(), String> {
    let mappings = match value {
        Value::Array(items) => items,
        single => vec![single],
    };
    for mapping in mappings {
        let Value::Object(fields) = mapping else {
            return Err("`<<` takes a mapping or a list of mappings".to_owned());
        };
        for (key, value) in fields {
            merged.entry(key).or_insert(value);
        }
    }
    Ok(())
}

fn scalar_value(text: &str, plain: bool, tag: Option<&Tag>) -> Result<Value, String> {
    let tag = tag.map(|tag| tag.suffix_in_namespace("tag:yaml.org,2002:").unwrap_or_default());
    match tag.as_deref() {
        None if !plain => Ok(Value::String(text.to_owned())),
        Some("str") => Ok(Value::String(text.to_owned())),
        None | Some("null" | "bool" | "int" | "float") => {
            scalar::resolve(text).map_err(|wrong| format!("`{text}` {wrong}"))
        }
        Some(_) => Err("a tag that the server does not know".to_owned()),
    }
}

fn too_deep() -> String {
    format!("nested more than {MAX_DEPTH} levels deep")
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 1,
    }
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
            read(text).unwrap(),
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
        assert!(read(&bomb).unwrap_err().message.contains("100000 keys"));
        assert!(read(&"[".repeat(100_000)).is_err());
        let keys = "a-key-of-some-length: 1\n".repeat(200_000);
        assert!(keys.len() > MAX_BYTES);
        assert_eq!(read(&keys).unwrap_err().message, "longer than 4 MiB");
        assert!(read("a: *a").is_err());
        assert!(read("&a [*a]").is_err());
        assert!(read("a: 1\n---\nb: 2\n").is_err());
        assert!(read("1: x").is_err());
        assert!(read("a: !!python/object:os.system x").is_err());
    }
}
