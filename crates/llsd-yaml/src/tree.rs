//! A document as it was read, every key and value with its place in the file: JSON for the
//! judges, lines and columns for the people.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};
use std::ops::Deref;
use std::rc::Rc;

use serde_json::Value;

use crate::dialect::Scalar;
use crate::path::{FieldPath, Segment};
use crate::position::Position;

/// A value and its place. Cloning is cheap: an alias shares the node of its anchor and only stands
/// somewhere else, so a document never grows by being read.
#[derive(Clone, Debug)]
pub struct Tree {
    pub(crate) at: Position,
    pub(crate) node: Rc<TreeNode>,
}

#[derive(Debug)]
pub(crate) struct TreeNode {
    pub(crate) content: TreeContent,
    /// Nodes below this one with every alias written out, itself included.
    pub(crate) size: usize,
    /// Bytes of all text below this one, written out in the same way.
    pub(crate) bytes: usize,
    pub(crate) depth: usize,
}

#[derive(Debug)]
pub(crate) enum TreeContent {
    Scalar(Scalar),
    List(Vec<Tree>),
    Map { entries: Entries, repeated: Vec<Repeated> },
}

/// The entries of a mapping in the order of the file. A long one is looked up by an index, which is made
/// when it is first asked for.
#[derive(Debug)]
pub(crate) struct Entries {
    list: Vec<Entry>,
    index: OnceCell<HashMap<String, usize>>,
}

/// Up to here it takes less time to look at every key.
const SHORT: usize = 32;

impl From<Vec<Entry>> for Entries {
    fn from(list: Vec<Entry>) -> Self {
        Self { list, index: OnceCell::new() }
    }
}

impl Deref for Entries {
    type Target = [Entry];

    fn deref(&self) -> &[Entry] {
        &self.list
    }
}

impl Entries {
    fn get(&self, key: &str) -> Option<&Entry> {
        if self.list.len() <= SHORT {
            return self.list.iter().find(|entry| entry.key == key);
        }
        let places = self.list.iter().enumerate().map(|(place, entry)| (entry.key.clone(), place));
        self.list.get(*self.index.get_or_init(|| places.collect()).get(key)?)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_at: Position,
    pub(crate) value: Tree,
}

/// A key that its mapping already had. The later value is the one that counts, as for kubectl.
#[derive(Clone, Debug)]
pub(crate) struct Repeated {
    pub(crate) key: String,
    pub(crate) at: Position,
    pub(crate) first: Position,
}

/// A key written twice, as [`Tree::duplicates`] finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    pub path: FieldPath,
    pub at: Position,
    pub first: Position,
}

impl TreeNode {
    pub(crate) fn new(content: TreeContent) -> Self {
        let (mut size, mut bytes, mut depth) = (1_usize, 0_usize, 0);
        let mut add = |child: &Tree| {
            size = size.saturating_add(child.node.size);
            bytes = bytes.saturating_add(child.node.bytes);
            depth = depth.max(child.node.depth);
        };
        match &content {
            TreeContent::Scalar(_) => {}
            TreeContent::List(items) => items.iter().for_each(&mut add),
            TreeContent::Map { entries, .. } => entries.iter().for_each(|entry| add(&entry.value)),
        }
        if let TreeContent::Scalar(Scalar::Text(text)) = &content {
            bytes = text.len();
        }
        Self { content, size, bytes, depth: depth + 1 }
    }
}

impl Tree {
    pub fn at(&self) -> Position {
        self.at
    }

    pub fn to_json(&self) -> Value {
        match &self.node.content {
            // Scalars that JSON cannot hold are refused while reading.
            TreeContent::Scalar(scalar) => scalar.to_json().unwrap_or(Value::Null),
            TreeContent::List(items) => items.iter().map(Self::to_json).collect(),
            TreeContent::Map { entries, .. } => {
                entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json())).collect()
            }
        }
    }

    pub fn is_map(&self) -> bool {
        matches!(self.node.content, TreeContent::Map { .. })
    }

    pub fn is_null(&self) -> bool {
        matches!(self.node.content, TreeContent::Scalar(Scalar::Null))
    }

    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.value)
    }

    pub fn items(&self) -> Option<&[Self]> {
        match &self.node.content {
            TreeContent::List(items) => Some(items),
            _ => None,
        }
    }

    pub fn text(&self) -> Option<&str> {
        match &self.node.content {
            TreeContent::Scalar(Scalar::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Where the reader should look for `path`: a scalar's own place, the key of a mapping or list
    /// (its content begins on the next line), and for what is not there the nearest ancestor that is.
    pub fn position(&self, path: &FieldPath) -> Position {
        self.locate(path, false)
    }

    /// As [`Self::position`], but the last key itself where there is one: for a field that should
    /// not be there at all.
    pub fn key_position(&self, path: &FieldPath) -> Position {
        self.locate(path, true)
    }

    fn locate(&self, path: &FieldPath, at_key: bool) -> Position {
        let (mut tree, mut position) = (self, self.at);
        let mut segments = path.segments().iter().peekable();
        while let Some(segment) = segments.next() {
            match segment {
                Segment::Index(index) => {
                    let Some(item) = tree.items().and_then(|items| items.get(*index)) else {
                        break;
                    };
                    (tree, position) = (item, item.at);
                }
                Segment::Key(key) => {
                    let Some(entry) = tree.entry(key) else { break };
                    let key_wanted = at_key && segments.peek().is_none();
                    let scalar = matches!(entry.value.node.content, TreeContent::Scalar(_));
                    tree = &entry.value;
                    position = if scalar && !key_wanted { tree.at } else { entry.key_at };
                }
            }
        }
        position
    }

    /// Every key that its mapping holds more than once, in the order of the file.
    pub fn duplicates(&self) -> Vec<Duplicate> {
        let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
        self.collect_duplicates(&FieldPath::root(), &mut seen, &mut found);
        found.sort_by_key(|duplicate| duplicate.at);
        found
    }

    fn collect_duplicates(
        &self,
        path: &FieldPath,
        seen: &mut BTreeSet<Position>,
        found: &mut Vec<Duplicate>,
    ) {
        match &self.node.content {
            TreeContent::Scalar(_) => {}
            TreeContent::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    item.collect_duplicates(&path.index(index), seen, found);
                }
            }
            TreeContent::Map { entries, repeated } => {
                for Repeated { key, at, first } in repeated {
                    // An aliased mapping is met once for every alias.
                    if seen.insert(*at) {
                        found.push(Duplicate { path: path.key(key), at: *at, first: *first });
                    }
                }
                for entry in entries.iter() {
                    entry.value.collect_duplicates(&path.key(&entry.key), seen, found);
                }
            }
        }
    }

    fn entry(&self, key: &str) -> Option<&Entry> {
        match &self.node.content {
            TreeContent::Map { entries, .. } => entries.get(key),
            _ => None,
        }
    }
}
