//! The reference pages of the documentation, made from what the program itself knows: the resource's
//! schema, the command line's definition, and the words of a status.

mod commands;
mod fields;
mod words;

pub use commands::commands;
pub use fields::fields;
pub use words::{conditions, events};

/// A note for whoever opens a page to edit it.
const GENERATED: &str = "<!-- Generated from the program: UPDATE_REFERENCE=1 cargo test -p llsd-release --test reference -->";

/// Every page by its name under `docs/reference`.
pub fn pages() -> Vec<(&'static str, String)> {
    vec![
        ("commands.md", commands(llsd::command::definition())),
        ("conditions.md", conditions()),
        ("events.md", events()),
        ("fields.md", fields()),
    ]
}

/// A text as a cell of a table.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
