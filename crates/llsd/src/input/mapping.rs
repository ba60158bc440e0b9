//! A mapping in the making: duplicate keys, merge keys and odd keys as kubectl's reader treats them.

use std::collections::HashMap;

use super::fault::Fault;
use super::tree::{Content, Entry, Position, Repeated, Tree};

#[derive(Debug, Default)]
pub(super) struct Mapping {
    entries: Vec<Entry>,
    repeated: Vec<Repeated>,
    /// Where in `entries` a key stands, and whether it only came there by a merge.
    index: HashMap<String, (usize, bool)>,
    /// The key whose value comes next.
    pub(super) pending: Option<Key>,
}

#[derive(Debug)]
pub(super) enum Key {
    Named(String, Position),
    Merge(Position),
}

impl Mapping {
    pub(super) fn finish(self) -> Content {
        Content::Map { entries: self.entries, repeated: self.repeated }
    }

    pub(super) fn put(&mut self, tree: Tree) -> Result<(), Fault> {
        match self.pending.take() {
            None => self.pending = Some(key(&tree)?),
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

    /// kubectl's reader lets a merge win over keys above it and lose against keys below it; in a
    /// list of mappings the first one wins.
    fn merge(&mut self, tree: &Tree, at: Position) -> Result<(), Fault> {
        let mappings = match &tree.node.content {
            Content::Map { .. } => std::slice::from_ref(tree),
            Content::List(items) => items.as_slice(),
            Content::Scalar(_) => return Err(wrong_merge(at)),
        };
        for mapping in mappings.iter().rev() {
            let Content::Map { entries, .. } = &mapping.node.content else {
                return Err(wrong_merge(at));
            };
            for Entry { key, key_at, value } in entries {
                self.insert(key.clone(), *key_at, value.clone(), true);
            }
        }
        Ok(())
    }
}

pub(super) fn wrong_merge(at: Position) -> Fault {
    let message = "`<<` takes a mapping or a list of mappings";
    Fault::invalid(at, message, "merge a mapping, or quote \"<<\"")
}

fn key(tree: &Tree) -> Result<Key, Fault> {
    let Content::Scalar(scalar) = &tree.node.content else {
        return Err(Fault::invalid(
            tree.at,
            "a list or mapping cannot be a key",
            "use a string as the key",
        ));
    };
    scalar.to_key().map(|key| Key::Named(key, tree.at)).ok_or_else(|| {
        Fault::invalid(tree.at, "null and huge numbers cannot be keys", "quote the key")
    })
}

/// Refuses what a value cannot be, though a key can.
pub(super) fn checked(tree: Tree) -> Result<Tree, Fault> {
    match &tree.node.content {
        Content::Scalar(scalar) if scalar.to_json().is_none() => Err(Fault::invalid(
            tree.at,
            "infinity and not-a-number do not exist in JSON",
            "quote the value, or use a finite number",
        )),
        _ => Ok(tree),
    }
}
