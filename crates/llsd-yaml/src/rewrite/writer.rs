//! Writes a changed document with the text of the old one: what did not change is copied as it
//! stands, and every comment goes where its field went.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::change::Change;
use super::homes::{Extra, Written};
use super::lines::{self, Lines};
use super::pieces::column;
use crate::document::manifest;
use crate::path::{FieldPath, Segment};
use crate::read::documents;

/// The new document as text; it reads back as exactly what it should say.
pub(super) fn write(change: &Change<'_>) -> String {
    let none = BTreeMap::new();
    let extras = Writer::write(change, &none).written.homes();
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
    plain.push_str(&manifest(change.new));
    plain.push_str(&layout.text[layout.foot.clone()]);
    plain
}

fn reads_as(text: &str, wanted: &Value) -> bool {
    let documents = documents(text);
    let [document] = documents.as_slice() else { return false };
    document.content.as_ref().is_ok_and(|tree| tree.to_json() == *wanted)
}

struct Writer<'c> {
    change: &'c Change<'c>,
    extras: &'c BTreeMap<FieldPath, Extra>,
    lines: Lines,
    written: Written<'c>,
}

impl<'c> Writer<'c> {
    fn write(change: &'c Change<'c>, extras: &'c BTreeMap<FieldPath, Extra>) -> Self {
        let written = Written { change, fields: Vec::new(), placed: BTreeSet::new() };
        let mut writer = Self { change, extras, lines: Lines::default(), written };
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
        let source = self.change.origin(path, parent, value);
        self.written.fields.push((path.clone(), source.clone()));
        let comment_indent = indent - lead.len();
        let extra = self.extras.get(path).cloned().unwrap_or_default();
        for above in &extra.above {
            self.lines.push(comment_indent, above);
        }
        if let Some(source) = &source {
            self.above(source, comment_indent);
        }
        let head = self.change.head(path, source.as_ref());
        if let Some(source) =
            source.as_ref().filter(|source| self.change.copies(source, path, value))
        {
            return self.copy(source, &head, indent, lead, extra.behind.as_deref());
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

    /// Copies a field that did not change from the text as it was.
    fn copy(
        &mut self,
        source: &FieldPath,
        head: &str,
        indent: usize,
        lead: &str,
        behind: Option<&str>,
    ) {
        let (end, inside) = self.change.region(source);
        let layout = self.change.layout;
        let start = &layout.pieces[source].head;
        let column = column(layout.text, start.start);
        self.lines.copied(lead, head, &layout.text[start.end..end], (column, indent), behind);
        self.written.placed.extend(inside);
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
            self.written.placed.insert(index);
        }
    }

    fn behind(&mut self, source: Option<&FieldPath>) -> Option<String> {
        let layout = self.change.layout;
        let index = self.comments_of(source?).find(|index| layout.comments[*index].trailing)?;
        self.written.placed.insert(index);
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
            self.written.placed.insert(index);
        }
    }

    fn comments_of<'p>(&'p self, source: &'p FieldPath) -> impl Iterator<Item = usize> + 'p {
        let all = self.change.layout.comments.iter().enumerate();
        all.filter(|(index, comment)| {
            comment.owner == *source && !self.written.placed.contains(index)
        })
        .map(|(index, _)| index)
    }
}
