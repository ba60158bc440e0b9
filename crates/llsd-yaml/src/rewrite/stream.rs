//! Texts of several documents: each is handed to an edit, and what did not change stays byte for
//! byte.

use serde_json::Value;

use super::change::{Change, Move};
use super::layout::layout;
use super::writer::write;
use crate::document::manifest;
use crate::read::{documents, parts};

/// The text with every document edited. `edit` changes a document's value and says which of its
/// parts went where, so that their comments can follow.
pub fn rewrite(text: &str, mut edit: impl FnMut(&mut Value) -> Vec<Move>) -> String {
    let parts = parts(text);
    let mut changed = Vec::new();
    for document in documents(text) {
        let Ok(tree) = document.content else { continue };
        let old = tree.to_json();
        let mut new = old.clone();
        let moves = edit(&mut new);
        let range = parts.ranges.get(document.number - 1).cloned();
        if let Some(range) = range.filter(|_| old != new) {
            let part = &text[range.clone()];
            let written =
                if parts.json { manifest(&new) } else { edited(part, &old, &new, &moves) };
            changed.push((range, written));
        }
    }
    if changed.is_empty() {
        return text.to_owned();
    }
    let mut texts = Vec::new();
    for range in &parts.ranges {
        let new = changed.iter().find(|(of, _)| of == range).map(|(_, text)| text.clone());
        texts.push(new.unwrap_or_else(|| text[range.clone()].to_owned()));
    }
    if parts.json { join(&texts) } else { texts.concat() }
}

fn edited(text: &str, old: &Value, new: &Value, moves: &[Move]) -> String {
    if let Some(layout) = layout(text) {
        return write(&Change { layout: &layout, old, new, moves });
    }
    // Brackets from the first line on: only comments are worth keeping of the form.
    let mut kept: Vec<&str> = text
        .lines()
        .filter(|line| line.trim_start().starts_with('#') || line.starts_with("---"))
        .collect();
    let manifest = manifest(new);
    kept.push(&manifest);
    kept.join("\n")
}

/// Texts as one, with separators where they have none of their own.
pub fn join(texts: &[String]) -> String {
    let mut out = String::new();
    for text in texts {
        if !out.is_empty() {
            if !out.ends_with('\n') {
                out.push('\n');
            }
            if !text.starts_with("---") {
                out.push_str("---\n");
            }
        }
        out.push_str(text.trim_start_matches('\n'));
    }
    out
}
