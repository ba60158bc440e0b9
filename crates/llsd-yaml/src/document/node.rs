//! A document as a tree of nodes, each with its origin, and the ways to read and change it.

use std::fmt;
use std::mem::discriminant;

use serde_json::{Map, Value};

use crate::path::FieldPath;

/// Why a line of the generated file stands there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The base configuration has it.
    Base,
    /// A field of the resource asks for it.
    Field(FieldPath),
    /// A rule of the operator, in a few words.
    Rule(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Base => f.write_str("base"),
            Self::Field(path) => write!(f, "{path}"),
            Self::Rule(rule) => write!(f, "rule: {rule}"),
        }
    }
}

/// A value and its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub origin: Origin,
    pub content: Content,
}

/// What a node holds; a scalar is never a list or a mapping.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    Scalar(Value),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

impl Node {
    pub fn scalar(value: impl Into<Value>, origin: Origin) -> Self {
        Self { origin, content: Content::Scalar(value.into()) }
    }

    pub fn list(items: Vec<Self>, origin: Origin) -> Self {
        Self { origin, content: Content::List(items) }
    }

    pub fn map(origin: Origin) -> Self {
        Self { origin, content: Content::Map(Vec::new()) }
    }

    /// The whole value with one origin, in its own order.
    pub fn from_value(value: Value, origin: &Origin) -> Self {
        let content = match value {
            Value::Array(items) => Content::List(
                items.into_iter().map(|item| Self::from_value(item, origin)).collect(),
            ),
            Value::Object(fields) => Content::Map(
                fields
                    .into_iter()
                    .map(|(key, value)| (key, Self::from_value(value, origin)))
                    .collect(),
            ),
            scalar => Content::Scalar(scalar),
        };
        Self { origin: origin.clone(), content }
    }

    /// A value of the resource, each part with its own field path. Keys are sorted, because the
    /// API server sorts them too and the file must not depend on who sent the resource.
    pub fn from_field(value: &Value, path: &FieldPath) -> Self {
        let content = match value {
            Value::Array(items) => Content::List(
                items
                    .iter()
                    .enumerate()
                    .map(|(index, item)| Self::from_field(item, &path.index(index)))
                    .collect(),
            ),
            Value::Object(fields) => Content::Map(sorted_fields(fields, path)),
            scalar => Content::Scalar(scalar.clone()),
        };
        Self { origin: Origin::Field(path.clone()), content }
    }

    pub fn to_value(&self) -> Value {
        match &self.content {
            Content::Scalar(value) => value.clone(),
            Content::List(items) => items.iter().map(Self::to_value).collect(),
            Content::Map(fields) => {
                fields.iter().map(|(key, node)| (key.clone(), node.to_value())).collect()
            }
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(self.content, Content::Scalar(Value::Null))
    }

    pub fn items(&self) -> &[Self] {
        match &self.content {
            Content::List(items) => items,
            _ => &[],
        }
    }

    pub fn fields(&self) -> &[(String, Self)] {
        match &self.content {
            Content::Map(fields) => fields,
            _ => &[],
        }
    }

    pub fn fields_mut(&mut self) -> &mut [(String, Self)] {
        match &mut self.content {
            Content::Map(fields) => fields,
            _ => &mut [],
        }
    }

    pub fn get(&self, key: &str) -> Option<&Self> {
        self.fields().iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    pub fn get_str(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Self::as_str)
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        self.fields_mut().iter_mut().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// The node below a path of keys.
    pub fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// Sets a field in place, or adds it at the end. A node that is not a mapping becomes one: the
    /// base has nothing there (`safety: null`).
    pub fn set(&mut self, key: &str, value: Self) {
        if let Some(node) = self.get_mut(key) {
            *node = value;
        } else {
            self.map_fields().push((key.to_owned(), value));
        }
    }

    pub fn remove(&mut self, key: &str) -> Option<Self> {
        match &mut self.content {
            Content::Map(fields) => {
                let place = fields.iter().position(|(name, _)| name == key)?;
                Some(fields.remove(place).1)
            }
            _ => None,
        }
    }

    /// The mapping at `key`, made if it is not there.
    pub fn entry_map(&mut self, key: &str, origin: &Origin) -> &mut Self {
        self.entry(key, Self::map(origin.clone()))
    }

    /// The list at `key`, made if it is not there.
    pub fn entry_list(&mut self, key: &str, origin: &Origin) -> &mut Vec<Self> {
        self.entry(key, Self::list(Vec::new(), origin.clone())).list_items()
    }

    /// The items to change; a node that is no list becomes an empty one.
    pub fn list_items(&mut self) -> &mut Vec<Self> {
        if !matches!(self.content, Content::List(_)) {
            self.content = Content::List(Vec::new());
        }
        match &mut self.content {
            Content::List(items) => items,
            _ => unreachable!("made a list above"),
        }
    }

    fn map_fields(&mut self) -> &mut Vec<(String, Self)> {
        if !matches!(self.content, Content::Map(_)) {
            self.content = Content::Map(Vec::new());
        }
        match &mut self.content {
            Content::Map(fields) => fields,
            _ => unreachable!("made a mapping above"),
        }
    }

    /// The node at `key`; the given one where there is none, or one of another kind.
    fn entry(&mut self, key: &str, empty: Self) -> &mut Self {
        let fields = self.map_fields();
        let place = fields.iter().position(|(name, _)| name == key).unwrap_or(fields.len());
        match fields.get_mut(place) {
            Some((_, node)) if discriminant(&node.content) == discriminant(&empty.content) => {}
            Some((_, node)) => *node = empty,
            None => fields.push((key.to_owned(), empty)),
        }
        &mut fields[place].1
    }
}

fn sorted_fields(fields: &Map<String, Value>, path: &FieldPath) -> Vec<(String, Node)> {
    let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
    sorted.sort_by_key(|(key, _)| *key);
    sorted
        .into_iter()
        .map(|(key, value)| (key.clone(), Node::from_field(value, &path.key(key))))
        .collect()
}
