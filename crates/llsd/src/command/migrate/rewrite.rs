//! Writes a changed document with the text of the old one: what did not change is copied as it
//! stands, and every comment goes where its field went.

use std::collections::{BTreeMap, BTreeSet};

use llsd_plan::migrate::{Move, value_at};
use llsd_plan::problem::{FieldPath, Segment};
use serde_json::Value;

use super::layout::Layout;
use super::lines::{self, Lines};
use crate::input::documents;

/// The old document, the new one, and what went where.
pub(super) struct Change<'c> {
    pub(super) layout: &'c Layout<'c>,
    pub(super) old: &'c Value,
    pub(super) new: &'c Value,
    pub(super) moves: &'c [Move],
}

/// The new document as text; it reads back as exactly what it should say.
pub(super) fn rewrite(change: &Change<'_>) -> String {
    let none = BTreeMap::new();
    let extras = Writer::write(change, &none).homeless();
    let written = Writer::write(change, &extras).lines.text(change.layout);
    if reads_as(&written, change.new) {
        return written;
    }
    // A layout that is too odd to copy from: the comments go on top, so that none is lost.
    let layout = change.layout;
    let mut plain = layout.text[layout.head.clone()].to_owned();
    for comment in &layout.comments {
        plain.push_str(&layout.text[comment.range.clone()]);
        plain.push('\n');
    }
    plain.push_str(&llsd_plan::document::manifest(change.new));
    plain.push_str(&layout.text[layout.foot.clone()]);
    plain
}

fn reads_as(text: &str, wanted: &Value) -> bool {
    let documents = documents(text);
    let [document] = documents.as_slice() else { return false };
    document.content.as_ref().is_ok_and(|tree| tree.to_json() == *wanted)
}

/// Comments whose field is gone, at the field that stands for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Extra {
    above: Vec<String>,
    behind: Option<String>,
}

struct Writer<'c> {
    change: &'c Change<'c>,
    extras: &'c BTreeMap<FieldPath, Extra>,
    lines: Lines,
    /// The fields and items in the order in which they were written, with where they came from.
    written: Vec<(FieldPath, Option<FieldPath>)>,
    /// The comments that have found their place, by index.
    placed: BTreeSet<usize>,
}

impl<'c> Writer<'c> {
    fn write(change: &'c Change<'c>, extras: &'c BTreeMap<FieldPath, Extra>) -> Self {
        let mut writer = Self {
            change,
            extras,
            lines: Lines::default(),
            written: Vec::new(),
            placed: BTreeSet::new(),
        };
        if let Value::Object(fields) = change.new {
            let root = FieldPath::root();
            for (key, value) in fields {
                writer.entry(value, &root.key(key), Some(&root), 0, "");
            }
        }
        writer
    }

    /// Writes one field or item. `lead` is what stands before it on its line: the dashes of the
    /// items that begin there.
    fn entry(
        &mut self,
        value: &Value,
        path: &FieldPath,
        parent: Option<&FieldPath>,
        indent: usize,
        lead: &str,
    ) {
        let source = self.origin(path, parent, value);
        self.written.push((path.clone(), source.clone()));
        let comment_indent = indent - lead.len();
        let extra = self.extras.get(path).cloned().unwrap_or_default();
        for above in &extra.above {
            self.lines.push(comment_indent, above);
        }
        if let Some(source) = &source {
            self.above(source, comment_indent);
        }
        let head = self.head(path, source.as_ref());
        if let Some(source) = source.as_ref().filter(|source| self.copies(source, path, value)) {
            let (end, inside) = self.region(source);
            let piece = &self.change.layout.pieces[source];
            let rest = &self.change.layout.text[piece.head.end..end];
            let column = super::layout::column(self.change.layout.text, piece.head.start);
            self.lines.copied(lead, &head, rest, (column, indent), extra.behind.as_deref());
            self.placed.extend(inside);
            return;
        }
        let behind = extra.behind.or_else(|| self.behind(source.as_ref()));
        let is_item = matches!(path.segments().last(), Some(Segment::Index(_)));
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                let inner = if is_item {
                    if let Some(behind) = behind {
                        self.lines.push(comment_indent, &behind);
                    }
                    format!("{lead}- ")
                } else {
                    self.lines.begin(lead, indent, &format!("{head}:"), behind.as_deref());
                    String::new()
                };
                for (index, (key, value)) in fields.iter().enumerate() {
                    let lead = if index == 0 { inner.as_str() } else { "" };
                    self.entry(value, &path.key(key), source.as_ref(), indent + 2, lead);
                }
            }
            Value::Array(items) if !items.is_empty() && !is_item => {
                self.lines.begin(lead, indent, &format!("{head}:"), behind.as_deref());
                for (index, item) in items.iter().enumerate() {
                    self.entry(item, &path.index(index), source.as_ref(), indent, "");
                }
            }
            value => {
                let head = if is_item { "-".to_owned() } else { format!("{head}:") };
                self.lines.value(lead, indent, &head, value, behind.as_deref());
            }
        }
        if let Some(source) = &source {
            self.below(source, indent);
        }
    }

    /// Where a part of the new document comes from: the field that it was, while it says the same
    /// or holds the same kind of things.
    fn origin(
        &self,
        path: &FieldPath,
        parent: Option<&FieldPath>,
        value: &Value,
    ) -> Option<FieldPath> {
        let at = |path: &FieldPath| value_at(self.change.old, path);
        let moved = || self.change.moves.iter().filter(|step| step.to == *path);
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
            && self.change.moves.iter().any(|step| step.to == *path);
        same.or_else(|| moved().map(|step| &step.from).find(alike))
            .cloned()
            .or_else(|| inherited.filter(|from| !moves_items && at(from).is_some()))
            .filter(|from| self.change.layout.pieces.contains_key(from))
    }

    /// The text of a key, as the source writes it where it has the same.
    fn head(&self, path: &FieldPath, source: Option<&FieldPath>) -> String {
        let Some(Segment::Key(key)) = path.segments().last() else { return "-".to_owned() };
        let layout = self.change.layout;
        let own = source.filter(|source| source.segments().last() == path.segments().last());
        match own.and_then(|source| layout.pieces.get(source)).filter(|piece| piece.block) {
            Some(piece) => layout.text[piece.head.clone()].to_owned(),
            None => lines::key(key),
        }
    }

    /// Whether the source's text can stand for the value.
    fn copies(&self, source: &FieldPath, path: &FieldPath, value: &Value) -> bool {
        let is_item = |path: &FieldPath| matches!(path.segments().last(), Some(Segment::Index(_)));
        let Some(piece) = self.change.layout.pieces.get(source) else { return false };
        self.change.layout.portable
            && piece.block
            && !piece.head.is_empty()
            && is_item(source) == is_item(path)
            && value_at(self.change.old, source) == Some(value)
    }

    /// Where the text of a field ends, comments that end it included, and the comments inside.
    fn region(&self, source: &FieldPath) -> (usize, Vec<usize>) {
        let layout = self.change.layout;
        let piece = &layout.pieces[source];
        let mut end = super::layout::line_end(layout.text, piece.value.end.max(piece.head.end));
        let mut inside = Vec::new();
        for (index, comment) in layout.comments.iter().enumerate() {
            let own = comment.owner.segments().starts_with(source.segments());
            if own && comment.range.start > piece.head.start {
                end = end.max(super::layout::line_end(layout.text, comment.range.end));
                inside.push(index);
            }
        }
        (end, inside)
    }

    /// The comments on lines of their own before a field, and an empty line that sets it apart.
    fn above(&mut self, source: &FieldPath, indent: usize) {
        let layout = self.change.layout;
        let Some(piece) = layout.pieces.get(source).filter(|piece| piece.block) else { return };
        let start = piece.head.start;
        let own: Vec<usize> = self
            .comments_of(source)
            .filter(|index| {
                let comment = &layout.comments[*index];
                !comment.trailing && comment.range.start < start
            })
            .collect();
        let first = own.first().map_or(start, |index| layout.comments[*index].range.start);
        if lines::follows_empty_line(layout.text, first) {
            self.lines.set_apart();
        }
        for index in own {
            self.lines.push(indent, &layout.text[layout.comments[index].range.clone()]);
            self.placed.insert(index);
        }
    }

    fn behind(&mut self, source: Option<&FieldPath>) -> Option<String> {
        let layout = self.change.layout;
        let index = self.comments_of(source?).find(|index| layout.comments[*index].trailing)?;
        self.placed.insert(index);
        Some(layout.text[layout.comments[index].range.clone()].to_owned())
    }

    /// The comments that end a field.
    fn below(&mut self, source: &FieldPath, indent: usize) {
        let layout = self.change.layout;
        let start = layout.pieces[source].head.start;
        let own: Vec<usize> =
            self.comments_of(source).filter(|index| !layout.comments[*index].trailing).collect();
        for index in own.into_iter().filter(|index| layout.comments[*index].range.start > start) {
            self.lines.push(indent, &layout.text[layout.comments[index].range.clone()]);
            self.placed.insert(index);
        }
    }

    fn comments_of<'p>(&'p self, source: &'p FieldPath) -> impl Iterator<Item = usize> + 'p {
        let all = self.change.layout.comments.iter().enumerate();
        all.filter(|(index, comment)| comment.owner == *source && !self.placed.contains(index))
            .map(|(index, _)| index)
    }

    /// The comments that found no place, each at the field that its own became.
    fn homeless(&self) -> BTreeMap<FieldPath, Extra> {
        let layout = self.change.layout;
        let mut extras: BTreeMap<FieldPath, Extra> = BTreeMap::new();
        for (index, comment) in layout.comments.iter().enumerate() {
            if self.placed.contains(&index) {
                continue;
            }
            let words = layout.text[comment.range.clone()].to_owned();
            let (home, exact) = self.home(&comment.owner);
            let extra = extras.entry(home).or_default();
            if comment.trailing && exact && extra.behind.is_none() {
                extra.behind = Some(words);
            } else {
                extra.above.push(words);
            }
        }
        extras
    }

    /// The field that stands for a part of the source, and whether its line is the one that does.
    /// Of several, the first in the new document.
    fn home(&self, owner: &FieldPath) -> (FieldPath, bool) {
        let mut owner = owner.clone();
        loop {
            if let Some(target) = self.first(|from| *from == owner) {
                let inline = value_at(self.change.new, &target)
                    .is_some_and(|value| !value.is_object() && !value.is_array());
                return (target, inline);
            }
            if let Some(target) = self.first(|from| from.segments().starts_with(owner.segments())) {
                return (target, false);
            }
            match owner.parent() {
                Some(parent) if parent.segments().len() > 1 => owner = parent,
                _ => return (self.top_of_the_spec(), false),
            }
        }
    }

    /// The first written field that comes from such a part of the source.
    fn first(&self, from: impl Fn(&FieldPath) -> bool) -> Option<FieldPath> {
        let moved = self.change.moves.iter().filter(|step| from(&step.from));
        let moved = moved.filter_map(|step| self.nearest(&step.to));
        let kept = self.written.iter().filter(|(_, source)| source.as_ref().is_some_and(&from));
        let place = |path: &FieldPath| self.written.iter().position(|(other, _)| other == path);
        moved.chain(kept.map(|(path, _)| path.clone())).min_by_key(|path| place(path))
    }

    /// A written field, or the nearest one that holds it.
    fn nearest(&self, path: &FieldPath) -> Option<FieldPath> {
        let mut path = Some(path.clone());
        while let Some(candidate) = path.filter(|path| path.segments().len() > 1) {
            if self.written.iter().any(|(written, _)| *written == candidate) {
                return Some(candidate);
            }
            path = candidate.parent();
        }
        None
    }

    fn top_of_the_spec(&self) -> FieldPath {
        let spec = Segment::Key("spec".to_owned());
        let paths = || self.written.iter().map(|(path, _)| path);
        let below =
            paths().find(|path| path.parent().is_some_and(|p| p.segments().last() == Some(&spec)));
        below.or_else(|| paths().next()).cloned().unwrap_or_default()
    }
}
