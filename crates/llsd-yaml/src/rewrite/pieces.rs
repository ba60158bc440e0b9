//! Where every field and item of a document stands in its text.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_saphyr::granit_parser::{Event, Options, Parser, ScalarStyle, StructureStyle};

use crate::path::FieldPath;

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

/// All pieces of a text.
#[derive(Default)]
pub(super) struct Pieces {
    pub(super) by_path: BTreeMap<FieldPath, Piece>,
    pub(super) scalars: Vec<Range<usize>>,
    /// Whether a part of the text means the same elsewhere: anchors and tags do not travel.
    pub(super) portable: bool,
    /// The outermost value is a mapping in lines.
    block: bool,
    frames: Vec<OpenCollection>,
}

struct OpenCollection {
    path: FieldPath,
    /// The place of the next item; nothing in a mapping.
    index: Option<usize>,
    /// The key whose value comes next.
    key: Option<(String, Range<usize>)>,
    block: bool,
    start: usize,
    end: usize,
}

impl Pieces {
    /// The pieces of one document that is a mapping; nothing for a text that is laid out otherwise.
    pub(super) fn split(text: &str) -> Option<Self> {
        let mut pieces = Self { portable: true, ..Self::default() };
        let mut options = Options::default();
        options.set_emit_comments(false);
        let mut parser = Parser::new_from_str_with_options(text, options);
        while let Some(next) = parser.next_event() {
            let (event, span) = next.ok()?;
            pieces.take(&event, span.byte_range()?, text)?;
        }
        pieces.block.then_some(pieces)
    }

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
        self.frames.push(OpenCollection { path, index, key: None, block, start, end: start });
    }

    fn next_path(&self) -> FieldPath {
        match self.frames.last() {
            None => FieldPath::root(),
            Some(OpenCollection { path, index: Some(index), .. }) => path.index(*index),
            Some(OpenCollection { path, key, .. }) => {
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
        self.by_path.insert(path, Piece { head, value, block: frame.block });
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
