//! The comments of a text, each with the field that it belongs to.

use std::ops::Range;

use super::pieces::{Pieces, column, line_end, line_start};
use crate::path::FieldPath;

/// A comment and the piece that it stands at.
#[derive(Clone, Debug)]
pub(super) struct Comment {
    pub(super) range: Range<usize>,
    pub(super) owner: FieldPath,
    /// Behind something on its line, and not on a line of its own.
    pub(super) trailing: bool,
}

/// A `#` that begins a line or follows a blank begins a comment, unless it is part of a text.
pub(super) fn comments(text: &str, within: Range<usize>, pieces: &Pieces) -> Vec<Comment> {
    let mut found = Vec::new();
    let mut at = within.start;
    while let Some(next) = text[at..within.end].find('#') {
        let start = at + next;
        at = start + 1;
        let begins = start == 0 || text[..start].ends_with([' ', '\t', '\n']);
        // The line of a literal's `|` may end in a comment.
        let in_text = pieces.scalars.iter().any(|scalar| {
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
        let owner = if trailing { behind(text, pieces, start) } else { above(text, pieces, start) };
        found.push(Comment { range: start..end, owner, trailing });
    }
    found
}

/// What a comment stands behind: the last that begins on its line, else what ends there.
fn behind(text: &str, pieces: &Pieces, at: usize) -> FieldPath {
    let start = line_start(text, at);
    let begun = pieces
        .by_path
        .iter()
        .filter(|(_, piece)| piece.block && piece.head.start < at)
        .filter(|(_, piece)| piece.head.start >= start || piece.value.end > start)
        .max_by_key(|(path, piece)| (piece.head.start, path.segments().len()));
    begun.map(|(path, _)| path.clone()).unwrap_or_default()
}

/// What a comment stands above, or what it ends where the next line is further left.
fn above(text: &str, pieces: &Pieces, at: usize) -> FieldPath {
    let all = || pieces.by_path.iter();
    let next = all()
        .filter(|(_, piece)| piece.head.start > at)
        .min_by_key(|(path, piece)| (piece.head.start, path.segments().len()));
    let indent = column(text, at);
    match next {
        Some((path, piece)) if indent <= column(text, piece.head.start) => path.clone(),
        _ => all()
            .filter(|(_, piece)| piece.head.start < at)
            .filter(|(_, piece)| column(text, piece.head.start) <= indent)
            .max_by_key(|(path, piece)| (piece.head.start, usize::MAX - path.segments().len()))
            .map(|(path, _)| path.clone())
            .unwrap_or_default(),
    }
}
