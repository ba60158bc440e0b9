//! A mapping in the making: duplicate keys, merge keys and odd keys as each dialect treats them.

use std::collections::HashMap;

use crate::dialect::Dialect;
use crate::fault::Fault;
use crate::position::Position;
use crate::tree::{Entry, Repeated, Tree, TreeContent};

#[derive(Debug)]
pub(super) struct Mapping {
    dialect: Dialect,
    entries: Vec<Entry>,
    repeated: Vec<Repeated>,
    /// Where in `entries` a key stands, and whether it only came there by a merge.
    index: HashMap<String, (usize, bool)>,
    /// What the server's reader puts below all other keys once the mapping ends.
    merged: Vec<Entry>,
    /// The key whose value comes next.
    pub(super) pending: Option<Key>,
}

#[derive(Debug)]
pub(super) enum Key {
    Named(String, Position),
    Merge(Position),
}

impl Mapping {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            entries: Vec::new(),
            repeated: Vec::new(),
            index: HashMap::new(),
            merged: Vec::new(),
            pending: None,
        }
    }

    pub(super) fn finish(self) -> TreeContent {
        let mut all = Self::new(self.dialect);
        for Entry { key, key_at, value } in self.merged {
            if !all.index.contains_key(&key) {
                all.insert(key, key_at, value, true);
            }
        }
        if all.entries.is_empty() {
            return TreeContent::Map { entries: self.entries.into(), repeated: self.repeated };
        }
        for Entry { key, key_at, value } in self.entries {
            all.insert(key, key_at, value, false);
        }
        TreeContent::Map { entries: all.entries.into(), repeated: self.repeated }
    }

    pub(super) fn put(&mut self, tree: Tree) -> Result<(), Fault> {
        match self.pending.take() {
            None => {
                let scalar = match &tree.node.content {
                    TreeContent::Scalar(scalar) => Some(scalar),
                    _ => None,
                };
                self.pending = Some(Key::Named(self.dialect.key(scalar, tree.at)?, tree.at));
            }
            Some(Key::Named(key, at)) => self.insert(key, at, checked(tree)?, false),
            Some(Key::Merge(at)) => self.merge(&tree, at)?,
        }
        Ok(())
    }

    fn insert(&mut self, key: String, key_at: Position, value: Tree, merged: bool) {
        if let Some((place, was_merged)) = self.index.get_mut(&key) {
            let entry = &mut self.entries[*place];
            if !merged && !*was_merged {
                self.repeated.push(Repeated { key: key.clone(), at: key_at, first: entry.key_at });
            }
            *was_merged = merged;
            *entry = Entry { key, key_at, value };
        } else {
            self.index.insert(key.clone(), (self.entries.len(), merged));
            self.entries.push(Entry { key, key_at, value });
        }
    }

    /// kubectl's reader lets a merge win over keys above it and lose against keys below it; for the
    /// server's it loses against all keys of the mapping itself. In a list of mappings the first one
    /// wins for both.
    fn merge(&mut self, tree: &Tree, at: Position) -> Result<(), Fault> {
        let mappings = match &tree.node.content {
            TreeContent::Map { .. } => std::slice::from_ref(tree),
            TreeContent::List(items) => items.as_slice(),
            TreeContent::Scalar(_) => return Err(wrong_merge(at)),
        };
        let mut merged = Vec::new();
        for mapping in mappings {
            let TreeContent::Map { entries, .. } = &mapping.node.content else {
                return Err(wrong_merge(at));
            };
            merged.push(&entries[..]);
        }
        match self.dialect {
            Dialect::PyYaml => self.merged.extend(merged.into_iter().flatten().cloned()),
            Dialect::Kubectl => {
                for Entry { key, key_at, value } in merged.into_iter().rev().flatten() {
                    self.insert(key.clone(), *key_at, value.clone(), true);
                }
            }
        }
        Ok(())
    }
}

pub(super) fn wrong_merge(at: Position) -> Fault {
    let message = "`<<` takes a mapping or a list of mappings";
    Fault::invalid(at, message, "merge a mapping, or quote \"<<\"")
}

/// Refuses what a value cannot be, though a key can.
pub(super) fn checked(tree: Tree) -> Result<Tree, Fault> {
    match &tree.node.content {
        TreeContent::Scalar(scalar) if scalar.to_json().is_none() => Err(Fault::invalid(
            tree.at,
            "infinity and not-a-number do not exist in JSON",
            "quote the value, or use a finite number",
        )),
        _ => Ok(tree),
    }
}
