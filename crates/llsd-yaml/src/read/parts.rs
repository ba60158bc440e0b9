//! Where the documents of a text begin and end, for commands that hand on what they do not change.

use std::ops::Range;

use serde_saphyr::granit_parser::{Event, Parser};

use super::documents::json_values;
use super::events::options;
use crate::dialect::Dialect;

/// The bytes of every document, by its number minus one; a separator belongs to the document that
/// it begins. Nothing is left out: the ranges make up the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    pub ranges: Vec<Range<usize>>,
    /// JSON values one after the other, without separators.
    pub json: bool,
}

/// The documents of a text that [`super::documents`] reads without a fault.
pub fn parts(text: &str) -> Parts {
    if let Some(values) = json_values(text) {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for (_, value) in values {
            let start = ranges.last().map_or(0, |last| last.end);
            ranges.push(start..start + value.len());
        }
        if let Some(last) = ranges.last_mut() {
            last.end = text.len();
        }
        return Parts { ranges, json: true };
    }
    let mut starts = Vec::new();
    let mut parser = Parser::new_from_str_with_options(text, options(Dialect::Kubectl));
    while let Some(Ok((event, span))) = parser.next_event() {
        if matches!(event, Event::DocumentStart(..)) {
            let at = span.byte_range().map_or(0, |range| range.start);
            // Comments above the first document are its own, and directives above any.
            starts.push(if starts.is_empty() { 0 } else { at });
        }
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let ranges = starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect();
    Parts { ranges, json: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_belongs_to_one_document() {
        let text = "# head\na: 1\n# tail\n---\n# of b\nb: |\n  ---\n---\n---\nc: 3\n";
        let parts = parts(text);
        let texts: Vec<&str> = parts.ranges.iter().map(|range| &text[range.clone()]).collect();
        let expected =
            ["# head\na: 1\n# tail\n", "---\n# of b\nb: |\n  ---\n", "---\n", "---\nc: 3\n"];
        assert_eq!(texts, expected);
    }

    #[test]
    fn json_values_stand_one_after_the_other() {
        let text = "{\"a\": 1}\n{\"b\": 2}\n";
        assert_eq!(parts(text), Parts { ranges: vec![0..8, 8..18], json: true });
    }
}
