//! An old document with its text, the new one, and what of the one became what of the other.

use serde_json::Value;

use super::layout::Layout;
use super::lines;
use super::pieces::line_end;
use crate::path::{FieldPath, Segment, value_at};

/// A part of the source that is at `to` now, with the same value or as part of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    pub from: FieldPath,
    pub to: FieldPath,
}

/// The old document, the new one, and what went where.
pub(super) struct Change<'c> {
    pub(super) layout: &'c Layout<'c>,
    pub(super) old: &'c Value,
    pub(super) new: &'c Value,
    pub(super) moves: &'c [Move],
}

impl Change<'_> {
    /// Where a part of the new document comes from: the field that it was, while it says the same
    /// or holds the same kind of things.
    pub(super) fn origin(
        &self,
        path: &FieldPath,
        parent: Option<&FieldPath>,
        value: &Value,
    ) -> Option<FieldPath> {
        let at = |path: &FieldPath| value_at(self.old, path);
        let moved = || self.moves.iter().filter(|step| step.to == *path);
        let inherited = parent.zip(path.segments().last()).map(|(parent, last)| match last {
            Segment::Key(key) => parent.key(key),
            Segment::Index(index) => parent.index(*index),
        });
        let same = moved().map(|step| &step.from).find(|from| at(from) == Some(value));
        let alike = |from: &&FieldPath| {
            at(from).is_some_and(|old| {
                (old.is_object() && value.is_object()) || (old.is_array() && value.is_array())
            })
        };
        let moves_items = matches!(path.segments().last(), Some(Segment::Index(_)))
            && self.moves.iter().any(|step| step.to == *path);
        same.or_else(|| moved().map(|step| &step.from).find(alike))
            .cloned()
            .or_else(|| inherited.filter(|from| !moves_items && at(from).is_some()))
            .filter(|from| self.layout.pieces.contains_key(from))
    }

    /// The text of a key, as the source writes it where it has the same.
    pub(super) fn head(&self, path: &FieldPath, source: Option<&FieldPath>) -> String {
        let Some(Segment::Key(key)) = path.segments().last() else { return "-".to_owned() };
        let layout = self.layout;
        let own = source.filter(|source| source.segments().last() == path.segments().last());
        match own.and_then(|source| layout.pieces.get(source)).filter(|piece| piece.block) {
            Some(piece) => layout.text[piece.head.clone()].to_owned(),
            None => lines::key(key),
        }
    }

    /// Whether the source's text can stand for the value.
    pub(super) fn copies(&self, source: &FieldPath, path: &FieldPath, value: &Value) -> bool {
        let is_item = |path: &FieldPath| matches!(path.segments().last(), Some(Segment::Index(_)));
        let Some(piece) = self.layout.pieces.get(source) else { return false };
        self.layout.portable
            && piece.block
            && !piece.head.is_empty()
            && is_item(source) == is_item(path)
            && value_at(self.old, source) == Some(value)
    }

    /// Where the text of a field ends, comments that end it included, and the comments inside.
    pub(super) fn region(&self, source: &FieldPath) -> (usize, Vec<usize>) {
        let layout = self.layout;
        let piece = &layout.pieces[source];
        let mut end = line_end(layout.text, piece.value.end.max(piece.head.end));
        let mut inside = Vec::new();
        for (index, comment) in layout.comments.iter().enumerate() {
            let own = comment.owner.segments().starts_with(source.segments());
            if own && comment.range.start > piece.head.start {
                end = end.max(line_end(layout.text, comment.range.end));
                inside.push(index);
            }
        }
        (end, inside)
    }
}
