//! What the pages have in common.

/// A note for whoever opens a page to edit it.
pub(super) const GENERATED: &str = "<!-- Generated from the program: UPDATE_REFERENCE=1 cargo test -p llsd-release --test reference -->";

/// A text as a cell of a table.
pub(super) fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
