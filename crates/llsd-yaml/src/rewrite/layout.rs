//! How a document is laid out in its text: where every field and item stands, and the comments
//! between them with the field that each belongs to. Nothing here knows what the fields mean.

use std::collections::BTreeMap;
use std::ops::Range;

use super::comments::{Comment, comments};
use super::pieces::{Piece, Pieces, line_end, line_start};
use crate::path::FieldPath;

/// A document's text taken apart.
#[derive(Clone, Debug)]
pub(super) struct Layout<'t> {
    pub(super) text: &'t str,
    pub(super) pieces: BTreeMap<FieldPath, Piece>,
    pub(super) comments: Vec<Comment>,
    /// Everything above the first field, and everything below the last.
    pub(super) head: Range<usize>,
    pub(super) foot: Range<usize>,
    /// Whether a part of the text means the same elsewhere.
    pub(super) portable: bool,
}

/// The layout of one document that is a mapping; nothing for a text that is laid out otherwise.
pub(super) fn layout(text: &str) -> Option<Layout<'_>> {
    let pieces = Pieces::split(text)?;
    let all = || pieces.by_path.values();
    let first = line_start(text, all().map(|piece| piece.head.start).min()?);
    let last = all().map(|piece| piece.value.end.max(piece.head.end)).max()?;
    let last = line_end(text, last);
    Some(Layout {
        text,
        comments: comments(text, first..last, &pieces),
        head: 0..first,
        foot: last..text.len(),
        portable: pieces.portable,
        pieces: pieces.by_path,
    })
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
        let owned = layout.comments.iter().map(|comment| {
            let words = text[comment.range.clone()].trim_start_matches("# ").to_owned();
            (words, comment.owner.to_string(), comment.trailing)
        });
        owned.collect()
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
