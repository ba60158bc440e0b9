//! How a document is laid out in its text: where every field and item stands, and the comments
//! between them with the field that each belongs to. Nothing here knows what the fields mean.

use std::collections::BTreeMap;
use std::ops::Range;

use llsd_plan::problem::FieldPath;
use serde_saphyr::granit_parser::{Event, Options, Parser, ScalarStyle, StructureStyle};

/// A field or an item of a list in the text.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// The key; for an item of a list the dash.
    pub(super) head: Range<usize>,
    /// The value alone.
    pub(super) value: Range<usize>,
    /// Whether it stands in lines of its own and not between brackets.
    pub(super) block: bool,
}

/// A comment and the piece that it stands at.
#[derive(Clone, Debug)]
pub(super) struct Comment {
    pub(super) range: Range<usize>,
    pub(super) owner: FieldPath,
    /// Behind something on its line, and not on a line of its own.
    pub(super) trailing: bool,
}

/// A document's text taken apart.
#[derive(Clone, Debug)]
pub(super) struct Layout<'t> {
    pub(super) text: &'t str,
    pub(super) pieces: BTreeMap<FieldPath, Piece>,
    pub(super) comments: Vec<Comment>,
    /// Everything above the first field, and everything below the last.
    pub(super) head: Range<usize>,
    pub(super) foot: Range<usize>,
    /// Whether a part of the text means the same elsewhere: anchors and tags do not travel.
    pub(super) portable: bool,
}

/// The layout of one document that is a mapping; nothing for a text that is laid out otherwise.
pub(super) fn layout(text: &str) -> Option<Layout<'_>> {
    let mut reader = Reader { portable: true, ..Reader::default() };
    let mut options = Options::default();
    options.set_emit_comments(false);
    let mut parser = Parser::new_from_str_with_options(text, options);
    while let Some(next) = parser.next_event() {
        let (event, span) = next.ok()?;
        reader.take(&event, span.byte_range()?, text)?;
    }
    if !reader.block {
        return None;
    }
    let first = reader.pieces.values().map(|piece| piece.head.start).min()?;
    let last = reader.pieces.values().map(|piece| piece.value.end.max(piece.head.end)).max()?;
    let mut layout = Layout {
        text,
        comments: Vec::new(),
        head: 0..line_start(text, first),
        foot: line_end(text, last)..text.len(),
        portable: reader.portable,
        pieces: reader.pieces,
    };
    layout.comments = comments(&layout, &reader.scalars);
    Some(layout)
}

#[derive(Default)]
struct Reader {
    frames: Vec<Frame>,
    pieces: BTreeMap<FieldPath, Piece>,
    scalars: Vec<Range<usize>>,
    portable: bool,
    /// The outermost value is a mapping in lines.
    block: bool,
}

struct Frame {
    path: FieldPath,
    /// The place of the next item; nothing in a mapping.
    index: Option<usize>,
    /// The key whose value comes next.
    key: Option<(String, Range<usize>)>,
    block: bool,
    start: usize,
    end: usize,
}

impl Reader {
    fn take(&mut self, event: &Event<'_>, span: Range<usize>, text: &str) -> Option<()> {
        match event {
            Event::Scalar(value, style, anchor, tag) => {
                let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                let span = if block { block_scalar(&span, text) } else { span };
                self.scalars.push(span.clone());
                self.portable &= *anchor == 0 && tag.is_none() && value != "<<";
                match self.frames.last_mut() {
                    Some(frame) if frame.index.is_none() && frame.key.is_none() => {
                        frame.key = Some((value.to_string(), span));
                    }
                    _ => self.piece(span, text),
                }
            }
            Event::Alias(_) => {
                self.portable = false;
                self.piece(span, text);
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.portable &= *anchor == 0 && tag.is_none();
                self.open(Some(0), *style, span.start);
            }
            Event::MappingStart(style, anchor, tag) => {
                self.portable &= *anchor == 0 && tag.is_none();
                self.open(None, *style, span.start);
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let frame = self.frames.pop()?;
                let end = if frame.block { frame.end } else { span.end };
                self.piece(frame.start..end.max(frame.start), text);
            }
            _ => {}
        }
        Some(())
    }

    fn open(&mut self, index: Option<usize>, style: StructureStyle, start: usize) {
        let path = self.next_path();
        let block = style != StructureStyle::Flow;
        self.block |= self.frames.is_empty() && block && index.is_none();
        self.frames.push(Frame { path, index, key: None, block, start, end: start });
    }

    fn next_path(&self) -> FieldPath {
        match self.frames.last() {
            None => FieldPath::root(),
            Some(Frame { path, index: Some(index), .. }) => path.index(*index),
            Some(Frame { path, key, .. }) => {
                path.key(key.as_ref().map(|(key, _)| key.clone()).unwrap_or_default())
            }
        }
    }

    fn piece(&mut self, value: Range<usize>, text: &str) {
        let path = self.next_path();
        let Some(frame) = self.frames.last_mut() else { return };
        let head = match (&mut frame.index, frame.key.take()) {
            (Some(index), _) => {
                *index += 1;
                dash(text, value.start)
            }
            (None, key) => key.map_or(value.clone(), |(_, range)| range),
        };
        // An empty value has no place of its own.
        let value = if value.is_empty() { head.end..head.end } else { value };
        frame.end = frame.end.max(value.end).max(head.end);
        self.pieces.insert(path, Piece { head, value, block: frame.block });
    }
}

/// A literal or folded text from its `|` or `>` to its last line that is not empty.
fn block_scalar(span: &Range<usize>, text: &str) -> Range<usize> {
    let inside = &text[span.start..span.end.min(text.len())];
    let start = match inside.trim_start().chars().next() {
        Some('|' | '>') => span.start,
        _ => text[..span.start].rfind(['|', '>']).unwrap_or(span.start),
    };
    let length = text[start..span.end].trim_end().len();
    start..start + length
}

/// The dash before an item that begins at `start`, on its line or above, where comments may stand
/// between the two.
fn dash(text: &str, start: usize) -> Range<usize> {
    let mut before = text[..start].trim_end();
    while !before.ends_with('-') {
        let line = line_start(text, before.len());
        let Some(hash) = before[line..].find('#') else { return start..start };
        before = text[..line + hash].trim_end();
    }
    before.len() - 1..before.len()
}

pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Behind the newline that ends the line of `at`.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1)
}

pub(super) fn column(text: &str, at: usize) -> usize {
    text[line_start(text, at)..at].chars().count()
}

/// A `#` that begins a line or follows a blank begins a comment, unless it is part of a text.
fn comments(layout: &Layout<'_>, scalars: &[Range<usize>]) -> Vec<Comment> {
    let text = layout.text;
    let mut found = Vec::new();
    let mut at = layout.head.end;
    while let Some(next) = text[at..layout.foot.start].find('#') {
        let start = at + next;
        at = start + 1;
        let begins = start == 0 || text[..start].ends_with([' ', '\t', '\n']);
        // The line of a literal's `|` may end in a comment.
        let in_text = scalars.iter().any(|scalar| {
            let first = scalar.start..line_end(text, scalar.start).min(scalar.end);
            let literal = text[scalar.clone()].starts_with(['|', '>']);
            scalar.contains(&start) && !(literal && first.contains(&start))
        });
        if !begins || in_text {
            continue;
        }
        let end = start + text[start..].find(['\n', '\r']).unwrap_or(text.len() - start);
        at = end;
        let trailing = !text[line_start(text, start)..start].trim().is_empty();
        let owner = if trailing { behind(layout, start) } else { above(layout, start) };
        found.push(Comment { range: start..end, owner, trailing });
    }
    found
}

/// What a comment stands behind: the last that begins on its line, else what ends there.
fn behind(layout: &Layout<'_>, at: usize) -> FieldPath {
    let start = line_start(layout.text, at);
    let pieces = layout.pieces.iter();
    let begun = pieces
        .filter(|(_, piece)| piece.block && piece.head.start < at)
        .filter(|(_, piece)| piece.head.start >= start || piece.value.end > start)
        .max_by_key(|(path, piece)| (piece.head.start, path.segments().len()));
    begun.map(|(path, _)| path.clone()).unwrap_or_default()
}

/// What a comment stands above, or what it ends where the next line is further left.
fn above(layout: &Layout<'_>, at: usize) -> FieldPath {
    let pieces = || layout.pieces.iter();
    let next = pieces()
        .filter(|(_, piece)| piece.head.start > at)
        .min_by_key(|(path, piece)| (piece.head.start, path.segments().len()));
    let indent = column(layout.text, at);
    match next {
        Some((path, piece)) if indent <= column(layout.text, piece.head.start) => path.clone(),
        _ => pieces()
            .filter(|(_, piece)| piece.head.start < at)
            .filter(|(_, piece)| column(layout.text, piece.head.start) <= indent)
            .max_by_key(|(path, piece)| (piece.head.start, usize::MAX - path.segments().len()))
            .map(|(path, _)| path.clone())
            .unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# head
---
# above a
a: 1 # behind a
b:
  # above c
  c: [x, y] # behind c
  # ends b
d:
- # behind the dash
  name: \"no # comment\"
# above the second
- name: |  # behind the bar
    # no comment
    text

  last: >-
    folded
# foot
";

    fn comments_of(text: &str) -> Vec<(String, String, bool)> {
        let layout = layout(text).unwrap();
        let told = layout.comments.iter().map(|comment| {
            let words = text[comment.range.clone()].trim_start_matches("# ").to_owned();
            (words, comment.owner.to_string(), comment.trailing)
        });
        told.collect()
    }

    #[test]
    fn every_comment_knows_the_field_that_it_stands_at() {
        let found = comments_of(TEXT);
        let expected = [
            ("behind a", "a", true),
            ("above c", "b.c", false),
            ("behind c", "b.c", true),
            ("ends b", "b.c", false),
            ("behind the dash", "d[0]", true),
            ("above the second", "d[1]", false),
            ("behind the bar", "d[1].name", true),
        ];
        let expected: Vec<_> =
            expected.map(|(words, owner, trailing)| (words.into(), owner.into(), trailing)).into();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_above_the_first_field_and_below_the_last_is_kept_apart() {
        let layout = layout(TEXT).unwrap();
        assert_eq!(&TEXT[layout.head.clone()], "# head\n---\n# above a\n");
        assert_eq!(&TEXT[layout.foot.clone()], "# foot\n");
        assert!(layout.portable);
    }

    #[test]
    fn values_are_found_with_all_their_lines() {
        let layout = layout(TEXT).unwrap();
        let value = |path: &FieldPath| &TEXT[layout.pieces[path].value.clone()];
        let d = FieldPath::root().key("d");
        assert_eq!(value(&d.index(0).key("name")), "\"no # comment\"");
        let second = d.index(1);
        assert_eq!(value(&second.key("name")), "|  # behind the bar\n    # no comment\n    text");
        assert_eq!(value(&second.key("last")), ">-\n    folded");
        assert_eq!(value(&FieldPath::root().key("b").key("c")), "[x, y]");
    }

    #[test]
    fn anchors_do_not_travel() {
        assert!(!layout("a: &x 1\nb: *x\n").unwrap().portable);
        assert!(layout("a: {b: [1]}\n").unwrap().portable);
    }
}
